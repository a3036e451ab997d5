// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks that the metadata of a package agrees with its files, and that the build has its back ends.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cuda_releases.hpp"
#include "core/facts/environment.hpp"
#include "core/facts/other_package.hpp"
#include "core/pep440.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

constexpr int64_t kEnoughCxx11Names = 100;  // minimum of torch's release gate
constexpr MajorMinor kFirstNvshmem{2, 9};   // first torch whose release gate requires NVSHMEM
constexpr MajorMinor kFirstCxx11{2, 7};     // first torch without public builds with the old strings

std::optional<std::string> look_up_value(const std::optional<std::map<std::string, std::string>>& values,
                                         const std::string& key) {
  if (!values) return std::nullopt;
  const auto found = values->find(key);
  return found == values->end() ? std::nullopt : std::optional(found->second);
}

bool has(const File& file, std::string_view content, std::string_view needed) {
  if (std::ranges::any_of(file.needed, [&](const auto& name) { return name.starts_with(needed); })) return true;
  if (!file.links) return false;
  const auto& contains = file.links->contains;
  return std::ranges::find(contains, content) != contains.end();
}

struct Tag {
  std::string python;
  std::string abi;
  std::string platform;
};

std::optional<Tag> parse_tag(const std::string& text) {
  const size_t first = text.find('-');
  const size_t second = first == std::string::npos ? first : text.find('-', first + 1);
  if (second == std::string::npos) return std::nullopt;
  return Tag{text.substr(0, first), text.substr(first + 1, second - first - 1), text.substr(second + 1)};
}

// Returns "2.28" for "manylinux_2_28_x86_64".
std::optional<std::string> parse_glibc(const std::string& platform) {
  constexpr std::string_view kBegin = "manylinux_";
  if (!platform.starts_with(kBegin)) return std::nullopt;
  const size_t first = platform.find('_', kBegin.size());
  const size_t second = first == std::string::npos ? first : platform.find('_', first + 1);
  if (second == std::string::npos) return std::nullopt;
  return platform.substr(kBegin.size(), first - kBegin.size()) + "." + platform.substr(first + 1, second - first - 1);
}

void ask_tag(Answer& answer, const Inventory& inventory, const std::string& text) {
  const auto tag = parse_tag(text);
  if (!tag) return;
  const auto& abi = inventory.python_abi;
  if (abi && tag->abi != *abi && tag->abi != "none")
    answer.seen.push_back(
        {say("the package's tag {} says {}, and torch's extension module is for {}", text, tag->abi, *abi)});
  if (inventory.platform && !tag->platform.ends_with(get_processor(*inventory.platform)))
    answer.seen.push_back({say("the package's tag {} says {}, and its files are built for {}", text, tag->platform,
                               *inventory.platform)});
  const auto promised = parse_major_minor(parse_glibc(tag->platform).value_or(""));
  const auto floor = look_up_value(inventory.version_floors, "GLIBC");
  const auto needed = parse_major_minor(floor.value_or(""));
  if (promised && needed && *promised < *needed)
    answer.seen.push_back({say("the package's tag {} promises to run with glibc {}.{}, and libtorch needs glibc {}",
                               text, promised->major, promised->minor, *floor)});
}

// Returns a tag for each platform in a wheel's file name, by which installers choose:
// "torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl". Returns none for a renamed file.
std::vector<std::string> tags_of_name(const Inventory& inventory) {
  constexpr std::string_view kExtension = ".whl";
  std::string_view name = base_name(inventory.artifact);
  const auto dashes = std::ranges::count(name, '-');
  if (inventory.layout != "wheel" || !name.ends_with(kExtension) || (dashes != 4 && dashes != 5)) return {};
  name.remove_suffix(kExtension.size());
  const size_t last = name.rfind('-');
  const size_t abi = name.rfind('-', last - 1);
  const size_t python = name.rfind('-', abi - 1);
  if (name.substr(abi, last - abi).find('.') != std::string_view::npos) return {};
  std::vector<std::string> tags;
  for (size_t at = last + 1; at <= name.size();) {
    const size_t end = std::min(name.find('.', at), name.size());
    tags.push_back(fmt::format("{}-{}", name.substr(python + 1, last - python - 1), name.substr(at, end - at)));
    at = end + 1;
  }
  return tags;
}

Answer requirements_are_met(const Facts& facts) {
  Answer answer;
  const auto& required = facts.inventory->required_versions;
  if (!required || facts.inventory->layout == "wheel") return answer;  // installing a wheel brings these
  for (const auto& [component, version] : *required) {
    const auto there = look_up_value(facts.inventory->component_versions, component);
    if (there && !is_version_of(*there, version))
      answer.seen.push_back(
          {.what = say("torch's package requires {} {}, and version {} is installed", component, version, *there),
           .remedy = reinstall_torch(*facts.inventory)});
  }
  return answer;
}

// Compares "+cu128" in the version of another package with the CUDA libraries that it links, else with the compilers of
// its cubins.
Answer other_version_is_true(const Inventory& inventory) {
  const Package* package = other_package(inventory);
  const std::string version = package == nullptr ? "" : package->version.value_or("");
  const auto local = local_cuda(version);
  if (!local) return {};
  const Distribution row = make_distribution(inventory);
  std::vector<std::string> others = row.cuda.empty() ? row.toolkits : row.cuda;
  std::erase_if(others, [&](const std::string& one) {
    return row.cuda.empty() ? parse_major_minor(one) == local : one == std::to_string(local->major);
  });
  if (others.empty()) return {};
  return {.seen = {{say("the package's version {} says CUDA {}.{}, and its files are built with CUDA {}", version,
                        local->major, local->minor, fmt::join(others, ", "))}}};
}

// Returns "cpu", "rocm" or "xpu" for the version of a build without CUDA: "2.11.0+cpu".
std::string_view find_other_back_end(std::string_view version) {
  for (const std::string_view name : {"cpu", "rocm", "xpu"}) {
    const size_t at = version.find('+');
    if (at != version.npos && version.substr(at + 1).starts_with(name)) return name;
  }
  return "";
}

Answer versions_agree(const Facts& facts) {
  Answer answer;
  const Inventory& inventory = *facts.inventory;
  if (facts.other) return other_version_is_true(inventory);
  if (!inventory.torch_version) return answer;
  const auto disagrees = [&](const std::string& stated) {
    const auto one = parse_python_version(stated);
    const auto other = parse_python_version(*inventory.torch_version);
    return !one || !other ? stated != *inventory.torch_version : !same_version(*one, *other);
  };
  for (const auto& stated : inventory.stated_versions) {
    if (stated.of != "torch" || stated.where.starts_with("torch/version.py:") || !disagrees(stated.stated)) continue;
    answer.seen.push_back(
        {say("{} says torch {}, and torch's files say {}", stated.where, stated.stated, *inventory.torch_version),
         stated.where});
    break;  // a wrong package states the wrong version in each place
  }
  const auto local = local_cuda(*inventory.torch_version);
  if (local && local != parse_major_minor(inventory.cuda_version.value_or("")))
    answer.seen.push_back(
        {say("the package's version {} says CUDA {}.{}, and torch is built {}", *inventory.torch_version, local->major,
             local->minor,
             make_words(inventory.cuda_version ? "with CUDA " + *inventory.cuda_version : "without CUDA")),
         "torch/version.py"});
  const auto other = find_other_back_end(*inventory.torch_version);
  if (!other.empty() && inventory.cuda_version)
    answer.seen.push_back({say("the package's version {} says {}, and torch is built with CUDA {}",
                               *inventory.torch_version, other, *inventory.cuda_version),
                           "torch/version.py"});
  return answer;
}

Answer tags_agree(const Facts& facts) {
  Answer answer;
  for (const auto& tag : tags_of_name(*facts.inventory)) ask_tag(answer, *facts.inventory, tag);
  if (!answer.seen.empty()) return answer;
  if (!facts.inventory->wheel_tags) return answer;
  for (const auto& tag : *facts.inventory->wheel_tags) ask_tag(answer, *facts.inventory, tag);
  return answer;
}

Answer abi_is_one(const Facts& facts) {
  Answer answer;
  const auto version = parse_major_minor(facts.inventory->torch_version.value_or(""));
  for (const auto& file : facts.inventory->files) {
    if (!is_own(*facts.inventory, file) || !file.links || file.links->pre_cxx11_names == 0) continue;
    const Links& links = *file.links;
    const bool mixed = links.cxx11_names >= kEnoughCxx11Names;
    const bool all_old_by_then = links.cxx11_names == 0 && version && *version < kFirstCxx11;
    if (!mixed && (!version || all_old_by_then)) continue;
    answer.seen.push_back(
        {say("{} symbols of this file use the std::string ABI before C++11, and {} symbols use the C++11 ABI",
             links.pre_cxx11_names, links.cxx11_names),
         file.path});
  }
  return answer;
}

Answer commit_is_known(const Facts& facts) {
  const Inventory& inventory = *facts.inventory;
  const bool has_file = inventory.layout == "wheel" || inventory.layout == "site-packages";
  if (!has_file || !inventory.torch_version) return {};
  const std::string commit = inventory.git_version.value_or("");
  if (!commit.empty() && commit != "Unknown") return {};
  return {.seen = {{"torch's files do not state the commit that they are built from", "torch/version.py"}}};
}

Answer has_matrix_library(const Facts& facts) {
  const File* file = file_named(*facts.inventory, kLibtorchCpu);
  if (file == nullptr || !file->links || has(*file, "oneDNN", "libdnnl")) return {};
  if (file->links->contains.empty()) return {};  // stripped of the names that show oneDNN
  return {
      .seen = {{"libtorch_cpu.so has no oneDNN, neither linked in nor needed: BF16, FP16 and INT8 are slow on the CPU",
                file->path}}};
}

Answer has_cudnn(const Facts& facts) {
  if (!facts.cuda_build) return {};
  const File* file = file_named(*facts.inventory, kLibtorchCuda);
  if (file == nullptr || !file->links || has(*file, "cuDNN", "libcudnn")) return {};
  return {.seen = {{"libtorch_cuda.so needs no cuDNN: convolutions are slow on the GPU", file->path}}};
}

Answer has_magma(const Facts& facts) {
  if (!facts.cuda_build) return {};
  for (const std::string_view name : {std::string_view("libtorch_cuda_linalg.so"), kLibtorchCuda}) {
    const File* file = file_named(*facts.inventory, name);
    if (file == nullptr || !file->links) continue;
    if (has(*file, "MAGMA", "libmagma")) return {};
    return {.seen = {{"this torch has no MAGMA: linear algebra on the GPU uses only cuSOLVER", file->path}}};
  }
  return {};
}

Answer has_nvshmem(const Facts& facts) {
  const Inventory& inventory = *facts.inventory;
  const auto version = parse_major_minor(inventory.torch_version.value_or(""));
  if (!facts.cuda_build || !version || *version < kFirstNvshmem) return {};
  const File* cuda = file_named(inventory, kLibtorchCuda);
  if (cuda == nullptr || !cuda->links) return {};
  const bool there = std::ranges::any_of(inventory.files, [](const File& file) {
    return file.component == kLibtorch && has(file, "NVSHMEM", "libnvshmem_host");
  });
  if (there) return {};
  return {
      .seen = {{"no file of libtorch needs NVSHMEM: torch's symmetric memory between GPUs has no NVSHMEM back end"}}};
}

}  // namespace

std::vector<Check> packages_checks() {
  using enum Need;
  return {
      {.id = "PB119",
       .severity = Severity::warn,
       .needs = {package, inventory, whole},
       .remedy =
           "install torch again from the same source: that installs the library versions that torch's package requires",
       .ask = requirements_are_met},
      {.id = "PB120",
       .needs = {inventory},
       .of_any = true,
       .remedy = "build the package again with one version everywhere (torch: PYTORCH_BUILD_VERSION), and do not "
                 "rename its wheel "
                 "by hand",
       .ask = versions_agree},
      {.id = "PB121",
       .needs = {package, inventory, whole},
       .remedy =
           "change the wheel's tag to its Python ABI, processor and glibc: auditwheel, or --plat-name of bdist_wheel",
       .ask = tags_agree},
      {.id = "PB122",
       .needs = {inventory},
       .remedy = "build all files of libtorch with one _GLIBCXX_USE_CXX11_ABI: files with different values do not link",
       .ask = abi_is_one},
      {.id = "PB123",
       .severity = Severity::note,
       .needs = {inventory, whole},
       .remedy = "set PYTORCH_BUILD_VERSION, and build from a Git checkout with its history",
       .ask = commit_is_known},
      {.id = "PB124",
       .severity = Severity::warn,
       .needs = {inventory},
       .remedy = "build torch with USE_MKLDNN=1, on aarch64 with USE_MKLDNN_ACL=1",
       .ask = has_matrix_library},
      {.id = "PB125",
       .severity = Severity::warn,
       .needs = {cuda_build, inventory, whole},
       .remedy = "build torch with USE_CUDNN=1 and cuDNN among its inputs",
       .ask = has_cudnn},
      {.id = "PB126",
       .severity = Severity::note,
       .needs = {cuda_build, inventory, whole},
       .remedy = "build torch with USE_MAGMA=1 where linear algebra on the GPU matters",
       .ask = has_magma},
      {.id = "PB127",
       .severity = Severity::note,
       .needs = {cuda_build, inventory, whole},
       .remedy =
           "build torch with USE_NVSHMEM=1 and NVSHMEM among its inputs where symmetric memory between GPUs matters",
       .ask = has_nvshmem},
  };
}

}  // namespace pbprobe
