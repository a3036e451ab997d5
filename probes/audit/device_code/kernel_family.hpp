// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Family of a kernel: the name of its function template, without namespaces, arguments and numbers.
#pragma once

#include <string_view>

namespace pbprobe {

// Returns the family of a kernel: "radixSortKVInPlace" of _ZN2at6native18radixSortKVInPlaceI…, "fmha_cutlassF_f" of
// _Z40fmha_cutlassF_f16_aligned_…. Numbers count variants of one kernel. Returns `name` if it is not mangled.
[[nodiscard]] std::string_view find_kernel_family(std::string_view name);

}  // namespace pbprobe
