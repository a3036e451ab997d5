// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/torch_names.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "core/strings.hpp"
#include "core/torch_names.hpp"
#include "probes/audit/containers/elf.hpp"
#include "probes/audit/packages/contents.hpp"
#include "probes/audit/packages/packages.hpp"
#include "probes/audit/packages/platform_policy.hpp"
#include "probes/audit/stream.hpp"

namespace pbprobe {
namespace {

constexpr size_t kMaxNames = 10;

using Names = std::set<std::string, std::less<>>;

// Files in the wheels whose exports recipes/torch_symbols.json lists. A build for ROCm or XPU has others.
bool is_known_torch_library(std::string_view library) {
  constexpr std::array<std::string_view, 11> kTorchLibraries{
      "libc10.so",          "libc10_cuda.so",          "libtorch.so",
      "libtorch_cpu.so",    "libtorch_cuda.so",        "libtorch_cuda_linalg.so",
      "libtorch_python.so", "libtorch_global_deps.so", "libcaffe2_nvrtc.so",
      "libshm.so",          "libtorch_nvshmem.so",
  };
  return std::ranges::find(kTorchLibraries, library) != kTorchLibraries.end();
}

// Reports whether the library was not read: it may define names in torch's namespaces.
bool is_foreign(const Dependency& dependency) {
  const std::string_view name = base_name(dependency.name);
  if (dependency.provider != Provider::unresolved || is_known_torch_library(name) || is_allowed_from_system(name))
    return false;
  const auto component = find_component(name);
  return !component || *component == "libtorch";
}

void erase_defined(const Bytes& bytes, Names& names) {
  const auto elf = read_elf(bytes);
  if (!elf) return;
  static_cast<void>(visit_symbols(*elf, ".dynsym", [&](std::string_view name, const Elf64_Sym& symbol) {
    if (symbol.st_shndx == SHN_UNDEF) return;
    if (const auto found = names.find(name); found != names.end()) names.erase(found);
  }));
}

void erase_defined(const std::filesystem::path& path, Names& names) {
  const auto mapping = map_file(path);
  if (mapping) erase_defined(Bytes(mapping->bytes(), path.filename().string()), names);
}

void erase_defined(const ArtifactLayout& layout, const AuditOptions& options, const Item& item, Names& names) {
  if (item.member == nullptr) return erase_defined(item.disk, names);
  const auto member = stream_member(layout.wheel->archive, *item.member, options, false);
  if (member) erase_defined(Bytes(member->memory.bytes(), item.path), names);
}

// Collects the names of all files, so that each library is read once.
Names find_undefined(const ArtifactLayout& layout, const AuditOptions& options, const std::vector<File>& files) {
  Names names;
  std::set<std::string> outside;
  for (const auto& file : files) {
    if (!file.links) continue;
    if (const auto& unknown = file.links->torch_symbols.unknown) names.insert(unknown->begin(), unknown->end());
    for (const auto& dependency : file.links->dependencies) {
      const bool torch = is_known_torch_library(base_name(dependency.name));
      if (dependency.provider == Provider::outside && dependency.path && !torch) outside.insert(*dependency.path);
    }
  }
  for (const auto& item : layout.items) {
    if (!names.empty() && is_shared_object_name(base_name(item.path))) erase_defined(layout, options, item, names);
  }
  for (const auto& path : outside) {
    if (!names.empty()) erase_defined(std::filesystem::path(path), names);
  }
  return names;
}

bool is_torch_layout(const ArtifactLayout& layout) {
  if (layout.torch_dir || layout.libtorch_dir) return true;
  return std::ranges::any_of(layout.packages,
                             [](const PackageText& text) { return calls_itself_torch(text.folder, text.metadata); });
}

void settle(File& file, const Names& undefined) {
  const auto& needed = file.links->dependencies;
  TorchSymbols& symbols = file.links->torch_symbols;
  if (!symbols.unknown) return;
  std::vector<std::string>& unknown = *symbols.unknown;
  std::erase_if(unknown, [&](const std::string& name) { return !undefined.contains(name); });
  const bool decided = file.component != "libtorch" && std::ranges::none_of(needed, is_foreign);
  if (unknown.empty() || !decided) return symbols.unknown.reset();
  std::stable_partition(unknown.begin(), unknown.end(), has_old_string);
  unknown.resize(std::min(unknown.size(), kMaxNames));
  symbols.releases.emplace();
}

}  // namespace

void settle_unknown_torch_names(const ArtifactLayout& layout, const AuditOptions& options, std::vector<File>& files) {
  const bool any =
      std::ranges::any_of(files, [](const File& file) { return file.links && file.links->torch_symbols.unknown; });
  if (!any) return;
  const Names undefined = is_torch_layout(layout) ? Names() : find_undefined(layout, options, files);
  for (auto& file : files) {
    if (file.links) settle(file, undefined);
  }
}

}  // namespace pbprobe
