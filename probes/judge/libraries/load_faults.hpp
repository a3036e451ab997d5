// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Modules of a package that the loader refuses, and the fault that is reported for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/facts/inventory.hpp"
#include "probes/judge/facts.hpp"

namespace pbprobe {

// The reason that most modules of a package share. A torch that the package was not built for comes first, because
// another build of the package brings other libraries too.
struct LoadFault {
  const Loading* loading = nullptr;            // module with the fault; null if all modules load
  const UnresolvedSymbol* of_torch = nullptr;  // symbol that the installed torch lacks; null for other faults
  size_t files = 0;                            // modules that do not load
};

enum class LoadFaultKind : uint8_t { library, version, symbol };

// Returns the modules that do not load and that no other build of the same module replaces. Modules that lack a library
// for their processor are left out: PB178 reports them. Requires inventory.loading.
[[nodiscard]] std::vector<const Loading*> find_unloadable(const Inventory& inventory);
// Reports whether the release of the installed torch ("2.11" of 2.11.0+cpu) exports the symbol.
[[nodiscard]] bool is_in_installed_release(const Inventory& inventory, const UnresolvedSymbol& symbol);
// Reports whether torch should define the symbol, by the needs of the file or by the name.
[[nodiscard]] bool is_torch_name(const Inventory& inventory, const Loading& loading, const UnresolvedSymbol& symbol);
// Reports whether the file needs (DT_NEEDED) libtorch or libc10.
[[nodiscard]] bool links_torch(const Inventory& inventory, const Loading& loading);
// Reports whether the modules of the package load, and only libraries that it opens to compute on a GPU lack libraries
// of CUDA, like onnxruntime's provider for CUDA.
[[nodiscard]] bool is_gpu_part(const Inventory& inventory, const LoadFault& fault);
// Reports whether most modules load, and the others need more packages, like cupy's module for cuTENSOR. Modules that
// lack CUDA's own libraries or link torch are no such part.
[[nodiscard]] bool is_optional_part(const Inventory& inventory, const LoadFault& fault);
// Returns the fault of a package if it is of this kind.
[[nodiscard]] std::optional<LoadFault> find_load_fault(const Facts& facts, LoadFaultKind kind);

// Reports libraries of CUDA that only parts for a GPU lack.
[[nodiscard]] Answer libraries_of_gpu_parts_are_found(const Facts& facts);

}  // namespace pbprobe
