// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/libraries/load_faults.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/torch_names.hpp"
#include "core/torch_symbols.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

// Reports whether the module finds a library only for another processor (PB178).
bool lacks_for_processor(const Loading& loading) {
  return std::ranges::any_of(loading.missing_libraries,
                             [](const MissingLibrary& library) { return library.other_processor.has_value(); });
}

LoadFaultKind find_fault_kind(const Loading& loading) {
  if (!loading.missing_libraries.empty()) return LoadFaultKind::library;
  return loading.missing_versions.empty() ? LoadFaultKind::symbol : LoadFaultKind::version;
}

}  // namespace

// Files that differ by numbers in their names are builds for several versions of a library outside of the package, one
// of which loads. They only lack such a library; a missing symbol is a fault of the file.
std::vector<const Loading*> find_unloadable(const Inventory& inventory) {
  std::map<std::string, bool> one_loads;
  for (const auto& loading : *inventory.loading) {
    bool& loads = one_loads[without_numbers(loading.path)];
    loads = loads || loading.loads();
  }
  std::vector<const Loading*> all;
  for (const auto& loading : *inventory.loading) {
    const bool is_spare = one_loads.at(without_numbers(loading.path)) && !loading.missing_libraries.empty();
    if (!loading.loads() && !is_spare && !lacks_for_processor(loading)) all.push_back(&loading);
  }
  return all;
}

bool is_in_installed_release(const Inventory& inventory, const UnresolvedSymbol& symbol) {
  const auto installed = parse_major_minor(get_release(inventory.torch_beside.value_or("")));
  return installed && std::ranges::find(symbol.releases, fmt::format("{}.{}", installed->major, installed->minor)) !=
                          symbol.releases.end();
}

bool is_torch_name(const Inventory& inventory, const Loading& loading, const UnresolvedSymbol& symbol) {
  for (const auto& file : inventory.files) {
    if (file.path != loading.path || !file.links) continue;
    const auto& first = file.links->torch_symbols.first;
    if (std::ranges::find(first, symbol.name) != first.end()) return true;
  }
  return !symbol.releases.empty() && classify_torch_name(symbol.name) != TorchName::none;
}

bool links_torch(const Inventory& inventory, const Loading& loading) {
  const auto file = std::ranges::find(inventory.files, loading.path, &File::path);
  return file != inventory.files.end() && std::ranges::any_of(file->needed, [](const auto& name) {
           return name.starts_with("libtorch") || name.starts_with("libc10");
         });
}

namespace {

LoadFault find_fault(const Inventory& inventory) {
  LoadFault fault;
  const auto faulty = find_unloadable(inventory);
  fault.files = faulty.size();
  // Without a torch, a package may have operators for torch that its own modules do not need, as open3d has.
  const auto rank = [&](const Loading& loading) {
    return std::pair(find_fault_kind(loading), !inventory.torch_beside && links_torch(inventory, loading));
  };
  for (const Loading* loading : faulty) {
    if (fault.loading == nullptr || rank(*loading) < rank(*fault.loading)) fault.loading = loading;
  }
  for (const Loading* loading : faulty) {
    for (const auto& symbol : loading->unresolved) {
      if (!inventory.torch_beside || fault.of_torch != nullptr || !is_torch_name(inventory, *loading, symbol) ||
          is_in_installed_release(inventory, symbol))
        continue;
      fault.loading = loading;
      fault.of_torch = &symbol;
    }
  }
  return fault;
}

bool is_library_of_cuda(const MissingLibrary& library) {
  constexpr std::array<std::string_view, 8> kOfCuda{"libcudart.",   "libcublas",   "libcufft.", "libcurand.",
                                                    "libcusparse.", "libcusolver", "libnvrtc",  "libnvJitLink."};
  return std::ranges::any_of(kOfCuda, [&](std::string_view begin) { return library.name.starts_with(begin); });
}

}  // namespace

bool is_gpu_part(const Inventory& inventory, const LoadFault& fault) {
  const auto uses_python = [&](const Loading& loading) {
    return std::ranges::any_of(inventory.files, [&](const File& file) {
      return file.path == loading.path && file.links && file.links->uses_python.value_or(true);
    });
  };
  const auto& all = *inventory.loading;
  const bool module_loads =
      std::ranges::any_of(all, [&](const Loading& one) { return one.loads() && uses_python(one); });
  const auto is_for_gpu = [](const MissingLibrary& library) {
    return is_library_of_cuda(library) || library.name.starts_with("libcudnn");
  };
  const auto faulty = find_unloadable(inventory);
  return fault.of_torch == nullptr && module_loads && std::ranges::none_of(faulty, [&](const Loading* one) {
           const auto& missing = one->missing_libraries;
           return missing.empty() || uses_python(*one) || links_torch(inventory, *one) ||
                  !std::ranges::all_of(missing, is_for_gpu);
         });
}

bool is_optional_part(const Inventory& inventory, const LoadFault& fault) {
  const auto& all = *inventory.loading;
  const auto loads = std::ranges::count_if(all, [](const Loading& one) { return one.loads(); });
  if (fault.of_torch != nullptr || 2 * static_cast<size_t>(loads) <= all.size()) return false;
  for (const Loading* loading : find_unloadable(inventory)) {
    const bool of_cuda = std::ranges::any_of(loading->missing_libraries, is_library_of_cuda);
    if (loading->missing_libraries.empty() || of_cuda || links_torch(inventory, *loading)) return false;
  }
  return true;
}

std::optional<LoadFault> find_load_fault(const Facts& facts, LoadFaultKind kind) {
  if (!facts.inventory->loading) return std::nullopt;
  const LoadFault fault = find_fault(*facts.inventory);
  if (fault.loading == nullptr) return std::nullopt;
  const LoadFaultKind seen = fault.of_torch != nullptr ? LoadFaultKind::symbol : find_fault_kind(*fault.loading);
  return seen == kind ? std::optional(fault) : std::nullopt;
}

}  // namespace pbprobe
