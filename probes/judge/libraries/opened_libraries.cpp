// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks that the loader finds the libraries of CUDA that a package opens as it runs.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/package_index.hpp"
#include "core/search_rules.hpp"
#include "probes/judge/libraries/library_packages.hpp"
#include "probes/judge/libraries/load_faults.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

struct UnopenedLibrary {
  const File* opener;
  const Dependency* opened;
};

// Returns the libraries that files of the package open in vain, each once.
std::vector<UnopenedLibrary> collect_unopened(const Inventory& inventory) {
  std::vector<UnopenedLibrary> all;
  for (const auto& file : inventory.files) {
    if (!file.links || !file.links->opened) continue;
    for (const auto& opened : *file.links->opened) {
      const bool known =
          std::ranges::any_of(all, [&](const UnopenedLibrary& one) { return one.opened->name == opened.name; });
      if (opened.by == kUnopened && !known) all.push_back({&file, &opened});
    }
  }
  return all;
}

// Reports whether the library itself is installed, outside of the search path.
bool is_installed(const UnopenedLibrary& library) {
  return library.opened->path && base_name(*library.opened->path) == library.opened->name;
}

std::string get_folder(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// cuDNN's packages have the major version of its libraries; "nvidia-cudnn-cu12" without a version installs cuDNN 9.
std::string pin_version(const ProvidedLibrary& library) {
  const size_t number = library.name.rfind(".so.");
  if (!library.name.starts_with("libcudnn") || number == library.name.npos) return *library.package;
  return fmt::format("'{}=={}.*'", *library.package, library.name.substr(number + std::string_view(".so.").size()));
}

std::string describe_remedy(const Facts& facts, const std::vector<UnopenedLibrary>& missing,
                            const std::vector<ProvidedLibrary>& provided) {
  const std::string torch = facts.inventory->torch_beside.value_or("");
  std::vector<std::string> folders;
  std::vector<std::string> packages;
  std::optional<std::string> other;
  const auto add = [](std::vector<std::string>& all, std::string one) {
    if (std::ranges::find(all, one) == all.end()) all.push_back(std::move(one));
  };
  for (size_t i = 0; i < missing.size(); ++i) {
    if (is_installed(missing[i])) {
      add(folders, get_folder(*missing[i].opened->path));
    } else if (provided[i].package) {
      add(packages, pin_version(provided[i]));
    }
    if (missing[i].opened->path && !is_installed(missing[i]) && !other) other = base_name(*missing[i].opened->path);
  }
  if (!other && packages.empty())
    return fmt::format("before Python starts: export LD_LIBRARY_PATH={}:$LD_LIBRARY_PATH", fmt::join(folders, ":"));
  const std::string add_folders = fmt::format(
      "pip install --target FOLDER --no-deps {}, and before Python starts add the lib folders below FOLDER "
      "to LD_LIBRARY_PATH",
      fmt::join(packages, " "));
  if (!other) return add_folders;
  const std::string name = facts.inventory->packages.front().name.value_or("");
  return fmt::format("install a release of {} for {}: pip install --upgrade {}{}; or {}", name, *other, name,
                     torch.empty() ? "" : " " + make_torch_pin(torch), add_folders);
}

// Skips an environment whose torch is a build without CUDA: its user computes on the CPU.
Answer opened_libraries_are_found(const Facts& facts) {
  const Inventory& inventory = *facts.inventory;
  const auto missing = collect_unopened(inventory);
  const auto cuda = local_cuda(inventory.torch_beside.value_or(""));
  Answer answer = libraries_of_gpu_parts_are_found(facts);
  if (missing.empty() || inventory.packages.empty() || (inventory.torch_beside && !cuda)) return answer;
  std::vector<std::string> names;
  for (const auto& library : missing) names.push_back(library.opened->name);
  const auto provided = find_packages(names, cuda ? std::optional(cuda->major) : std::nullopt);
  const UnopenedLibrary& first = missing.front();
  const std::string package = provided.front().package ? fmt::format(" ({})", *provided.front().package) : "";
  const std::string more = missing.size() < 2 ? "" : fmt::format(" and {} more", missing.size() - 1);
  std::string cause = "which neither the environment nor the system has";
  if (is_installed(first)) {
    cause = fmt::format("which is in {}, where the loader does not search", get_folder(*first.opened->path));
  } else if (first.opened->path) {
    cause = fmt::format("and the environment has {}", base_name(*first.opened->path));
  }
  answer.seen.push_back(
      {.what = say("{}: to compute on a GPU, its file {} opens {}{}{}, {}", facts.torch, base_name(first.opener->path),
                   first.opened->name, make_words(package), make_words(more), make_words(cause)),
       .where = first.opener->path,
       .remedy = describe_remedy(facts, missing, provided)});
  return answer;
}

}  // namespace

std::vector<Check> opened_libraries_checks() {
  using enum Need;
  return {
      {.id = "PB186",
       .severity = Severity::warn,
       .needs = {inventory, environment},
       .of_any = true,
       .remedy = "add the folder of the library to LD_LIBRARY_PATH before Python starts",
       .ask = opened_libraries_are_found},
  };
}

}  // namespace pbprobe
