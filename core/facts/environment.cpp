// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/facts/environment.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cpu_needs.hpp"
#include "core/major_minor.hpp"
#include "core/pep440.hpp"
#include "core/strings.hpp"
#include "core/torch_symbols.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kDigits = "0123456789";

// Returns "13" for libcudart.so.13, libcudart.so.11.0 and libcudart.3eda8113.so.13; "" for libraries with version
// numbers of their own: libcufft.so.12 belongs to CUDA 13.
std::string parse_cuda_major(std::string_view library) {
  constexpr std::array<std::string_view, 5> kOfCuda{"libcudart", "libcublasLt", "libcublas", "libnvrtc",
                                                    "libnvJitLink"};
  constexpr std::string_view kMark = ".so.";
  const size_t at = library.rfind(kMark);
  const std::string_view stem = library.substr(0, library.find_first_of(".-"));
  if (at == library.npos || std::ranges::find(kOfCuda, stem) == kOfCuda.end()) return "";
  const std::string_view version = library.substr(at + kMark.size());
  return std::string(version.substr(0, version.find_first_not_of(kDigits)));
}

void add(std::map<std::string, int64_t>& sum, const std::map<std::string, int64_t>& more) {
  for (const auto& [name, count] : more) sum[name] += count;
}

void add_device_code(Distribution& row, const DeviceCode& code, std::set<std::string>& toolkits) {
  add(row.cubin, code.cubin);
  add(row.ptx, code.ptx);
  add(row.lto_ir, code.lto_ir);
  for (const auto& [sm, version] : code.ptx_versions) {
    std::string& highest = row.ptx_versions[sm];
    const auto known = parse_major_minor(highest);
    if (!known || *known < parse_major_minor(version)) highest = version;
  }
  for (const auto& [release, count] : code.toolkits) toolkits.insert(release);
}

void add_torch(Distribution& row, const File& file) {
  if (!file.links) return;
  const TorchSymbols& symbols = file.links->torch_symbols;
  const TorchAbi abi = symbols.cxx > 0 ? TorchAbi::cxx : symbols.stable > 0 ? TorchAbi::stable : TorchAbi::none;
  const int64_t count = abi == TorchAbi::cxx ? symbols.cxx : symbols.stable;
  if (abi < row.torch_abi || (abi == row.torch_abi && count <= row.torch_symbols)) return;
  row.torch_abi = abi;
  row.torch_symbols = count;
  row.first_torch_symbols = symbols.first;
  row.torch_releases = symbols.releases.value_or(std::vector<std::string>());
  row.unknown_torch_symbol = symbols.unknown ? std::optional(symbols.unknown->front()) : std::nullopt;
}

// Stores the torch releases that export the symbols of all files. If no release exports all, the files are alternatives
// to each other: keeps the releases for the file with the most symbols.
void take_common_releases(Distribution& row, const std::vector<File>& files) {
  TorchReleases common = TorchReleases::all();
  bool any = false;
  for (const auto& file : files) {
    if (!file.links || !file.links->torch_symbols.releases) continue;
    common &= TorchReleases::of(*file.links->torch_symbols.releases);
    any = true;
  }
  if (any && !common.empty()) row.torch_releases = common.names();
}

using FeatureNames = std::set<std::string>;

std::vector<std::string> list_names(const FeatureNames& names) {
  return {names.begin(), names.end()};
}

// Returns "; selects avx512 at run time", or "" if no guarded code needs more than `needed`.
std::string name_selected(const std::string& architecture, const FeatureNames& needed, const FeatureNames& all) {
  const Target* selected = nullptr;
  for (const auto& target : all_targets()) {
    if (target.kind != TargetKind::cpu || target.architecture != architecture || !has_variants(target)) continue;
    auto telling = own_features(target);
    if (telling.empty()) telling = target.marks.value_or(std::vector<std::string>());
    std::erase_if(telling, [&](const auto& name) { return !all.contains(name) || needed.contains(name); });
    const auto known = selected ? list_target_features(*selected) : std::vector<std::string>();
    if (!missing_features(telling, known).empty()) selected = &target;
  }
  const auto more = missing_features(list_names(all), list_names(needed));
  if (selected == nullptr && more.empty()) return "";
  return fmt::format("; selects {} at run time", selected ? selected->id : fmt::format("{}", fmt::join(more, ", ")));
}

void insert_names(FeatureNames& names, const std::map<std::string, int64_t>& counts) {
  for (const auto& [feature, count] : counts) names.insert(feature);
}

// Code that runs as a file is loaded is needed for certain. If other code needs more than a Nehalem, and nothing was
// recognized that guards it, the minimum is not known.
MinimumCpu make_minimum(const std::string& architecture, const FeatureNames& certain, FeatureNames open,
                        const FeatureNames& all) {
  MinimumCpu cpu{.least = minimum_cpu(architecture, list_names(certain))};
  open.insert(certain.begin(), certain.end());
  cpu.features = list_names(open);
  const auto old = list_hwcaps_features("glibc-hwcaps/x86-64-v2/").value_or(std::vector<std::string>());
  if (open != certain && !missing_features(cpu.features, old).empty()) {
    cpu.most = kUnknownCpu;
    if (cpu.least == architecture) cpu.least = kUnknownCpu;
    return cpu;
  }
  cpu.selected = name_selected(architecture, open, all);
  if (open != certain) cpu.most = minimum_cpu(architecture, cpu.features);
  return cpu;
}

// Encoding of the moves that a compiler wrote: it tells the flags of most of a file. With -mavx a compiler writes no
// move of SSE2 in its old encoding; hand-written code and a standard library that is linked in are the rest.
enum class MoveEncoding : uint8_t { unknown, sse, avx };

MoveEncoding find_encoding(const HostCode& code) {
  constexpr int64_t kEnoughFunctions = 20;
  const int64_t sse = code.sse_functions.value_or(0);
  const int64_t avx = code.avx_functions.value_or(0);
  if (sse + avx < kEnoughFunctions) return MoveEncoding::unknown;
  if (avx >= 9 * sse) return MoveEncoding::avx;
  return sse >= avx ? MoveEncoding::sse : MoveEncoding::unknown;
}

// Returns the part of the path before the name of a CPU: "faiss/_swigfaiss" of faiss/_swigfaiss_avx2.so; "" without
// one.
std::string_view cut_at_cpu_name(std::string_view path) {
  size_t at = path.npos;
  for (const std::string_view mark : {"avx", "sse4", "sve", "haswell", "skylake", "glibc-hwcaps/"})
    at = std::min(at, path.find(mark));
  const std::string_view begin = path.substr(0, at == path.npos ? 0 : at);
  return begin.substr(0, begin.find_last_not_of("_-.") + 1);
}

// Reports whether the package has the same library for other CPUs: a name alone does not show that Python chooses.
bool has_alternative(const File& file, std::span<const File> files) {
  const std::string_view begin = cut_at_cpu_name(file.path);
  return !begin.empty() && std::ranges::any_of(files, [&](const File& other) {
    return other.path.starts_with(begin) && cut_at_cpu_name(other.path).empty();
  });
}

// Removes what is newer than a Nehalem from the needs of a file for CPUs without AVX: it was compiled apart from the
// rest, for a choice at run time, as memmove() of Go's runtime, which runs as the file is loaded.
void forget_selected(const HostCode& code, FeatureNames& needs) {
  if (find_encoding(code) != MoveEncoding::sse) return;
  const auto old = list_hwcaps_features("glibc-hwcaps/x86-64-v2/").value_or(std::vector<std::string>());
  for (const auto& name : missing_features(list_names(needs), old)) needs.erase(name);
}

// CPU features that a file needs for certain: in code that runs as it is loaded, or because most of it is AVX.
FeatureNames find_certain_needs(const File& file, std::span<const File> files) {
  FeatureNames needs;
  if (has_alternative(file, files)) return needs;
  insert_names(needs, file.host_code->at_load);
  if (find_encoding(*file.host_code) == MoveEncoding::avx) needs.insert("avx");
  forget_selected(*file.host_code, needs);
  return needs;
}

// CPU features that other code of the file may need.
FeatureNames find_open_needs(const File& file, std::span<const File> files) {
  FeatureNames needs;
  if (has_alternative(file, files)) return needs;
  insert_names(needs, file.host_code->unguarded);
  insert_names(needs, file.host_code->unclassified);
  forget_selected(*file.host_code, needs);
  return needs;
}

// Minimum CPU of torch: its dispatcher guards the code of its CPU capabilities, and nothing else is guarded.
std::optional<std::string> find_minimum_of_torch(const std::vector<File>& files) {
  std::string architecture;
  FeatureNames unguarded;
  for (const auto& file : files) {
    if (!file.host_code || !file.machine) continue;
    if (!architecture.empty() && architecture != *file.machine) return std::nullopt;
    architecture = *file.machine;
    insert_names(unguarded, file.host_code->unguarded);
  }
  return architecture.empty() ? std::nullopt : std::optional(minimum_cpu(architecture, list_names(unguarded)));
}

std::optional<std::string> describe_minimum_cpu(const std::vector<File>& files, bool is_torch) {
  if (is_torch) return find_minimum_of_torch(files);
  const auto cpu = find_minimum_cpu(files);
  return cpu ? std::optional(describe(*cpu)) : std::nullopt;
}

// Raises the newest version of glibc that the package's files need.
void add_glibc(Distribution& row, const File& file) {
  if (!file.links || !file.links->version_floors.contains("GLIBC")) return;
  const std::string& needed = file.links->version_floors.at("GLIBC");
  const auto known = parse_major_minor(row.glibc.value_or(""));
  if (!known || *known < parse_major_minor(needed)) row.glibc = needed;
}

void take_identity(Distribution& row, const Inventory& inventory) {
  const Package* package = inventory.packages.empty() ? nullptr : &inventory.packages.front();
  row.folder =
      inventory.layout == "wheel" || package == nullptr ? std::string(base_name(inventory.artifact)) : package->folder;
  row.name = package != nullptr && package->name ? *package->name : row.folder.substr(0, row.folder.find('-'));
  if (package != nullptr) row.version = package->version;
  row.tags = inventory.wheel_tags.value_or(std::vector<std::string>());
}

}  // namespace

std::string python_of_module(std::string_view name) {
  if (name.ends_with(".abi3.so")) return "abi3";
  if (name.ends_with(".abi3t.so")) return "abi3t";
  for (const auto& [kind, tag] : {std::pair<std::string_view, const char*>{".cpython-", "cp"}, {".pypy", "pp"}}) {
    const size_t at = name.find(kind);
    if (at == name.npos || !name.ends_with(".so")) continue;
    const std::string_view rest = name.substr(at + kind.size());
    return tag + std::string(rest.substr(0, rest.find('-')));
  }
  return "";
}

bool imports_module(std::string_view tag, std::string_view module) {
  constexpr int kFirstWithAbi3t = 15;  // Python 3.15
  if (module == tag) return true;
  int minor = 0;
  if (!tag.starts_with("cp3") || std::from_chars(tag.data() + 3, tag.data() + tag.size(), minor).ec != std::errc())
    return false;
  return module == "abi3" ? !tag.ends_with('t') : module == "abi3t" && minor >= kFirstWithAbi3t;
}

std::optional<MinimumCpu> find_minimum_cpu(std::span<const File> files) {
  std::string architecture;
  FeatureNames certain, open, all;
  for (const auto& file : files) {
    if (!file.host_code || !file.machine) continue;
    if (!architecture.empty() && architecture != *file.machine) return std::nullopt;
    architecture = *file.machine;
    insert_names(all, file.host_code->features);
    certain.merge(find_certain_needs(file, files));
    open.merge(find_open_needs(file, files));
  }
  if (architecture.empty()) return std::nullopt;
  return make_minimum(architecture, certain, std::move(open), all);
}

std::string describe(const MinimumCpu& cpu) {
  if (!cpu.most) return cpu.least + cpu.selected;
  if (*cpu.most != kUnknownCpu) return fmt::format("at most {}{}", *cpu.most, cpu.selected);
  return cpu.least == kUnknownCpu ? cpu.least : "at least " + cpu.least;
}

Distribution make_distribution(const Inventory& inventory) {
  Distribution row;
  take_identity(row, inventory);
  std::set<std::string> python;
  std::set<std::string> cuda;
  std::set<std::string> toolkits;
  FeatureNames needs;
  for (const auto& file : inventory.files) {
    ++row.files;
    row.size_bytes += file.size_bytes;
    add_torch(row, file);
    add_glibc(row, file);
    if (file.host_code && find_encoding(*file.host_code) == MoveEncoding::avx)
      needs.merge(find_certain_needs(file, inventory.files));
    python.insert(python_of_module(base_name(file.path)));
    cuda.insert(parse_cuda_major(file.soname.value_or("")));
    for (const auto& library : file.needed) cuda.insert(parse_cuda_major(library));
    if (file.device_code) add_device_code(row, *file.device_code, toolkits);
    if (file.self_loaded_code) add(row.self_loaded, file.self_loaded_code->cubin);
    if (file.problem) row.problems.push_back(file.path + ": " + *file.problem);
  }
  take_common_releases(row, inventory.files);
  row.minimum_cpu = describe_minimum_cpu(inventory.files, package_name(row.name) == "torch");
  if (row.minimum_cpu) row.cpu_needs = list_names(needs);
  row.loading = inventory.loading;
  if (package_name(row.name) == "torch") row.torch_abi = TorchAbi::own;
  for (auto* names : {&python, &cuda}) names->erase("");
  row.python.assign(python.begin(), python.end());
  row.cuda.assign(cuda.begin(), cuda.end());
  row.toolkits.assign(toolkits.begin(), toolkits.end());
  row.problems.insert(row.problems.end(), inventory.problems.begin(), inventory.problems.end());
  return row;
}

}  // namespace pbprobe
