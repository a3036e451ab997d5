// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Comparison of the CPU features that code needs with the CPU rows of the target table.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/targets.hpp"

namespace pbprobe {

// Returns the names in `wanted` that `there` lacks, in order.
[[nodiscard]] std::vector<std::string> missing_features(std::span<const std::string> wanted,
                                                        std::span<const std::string> there);

// Returns the features that code for this CPU target may use: those that every CPU of the target has.
[[nodiscard]] std::vector<std::string> list_target_features(const Target& target);

// Returns the host's features, and those that pbprobe did not detect when an older record was written. A record of an
// x86-64 CPU with SSE4.2, which no CPU has without CMPXCHG16B, is such a record if it lacks "cx16".
[[nodiscard]] std::vector<std::string> complete_record(std::span<const std::string> host_features);

// Returns the names in `needs` that the host lacks. Ignores names that no row of the architecture contains: for those,
// the host's feature list proves nothing.
[[nodiscard]] std::vector<std::string> lacking_features(std::string_view architecture,
                                                        std::span<const std::string> needs,
                                                        std::span<const std::string> host_features);

// Reports whether a CPU can have all of these features: none has FMA4 and AVX-512, or Knights Landing's AVX-512ER and
// AVX-512VL, and none that is sold has APX or AVX10.2. A set without a CPU comes of code that is chosen at run time.
[[nodiscard]] bool has_some_cpu(std::span<const std::string> features);

inline constexpr std::string_view kUnknownCpu = "not known";

// Returns the minimum CPU for code that needs these features: a target's id, or the architecture's name if `needs` is
// empty. Appends features that no fitting row has: "x86_64+sse4_1".
[[nodiscard]] std::string minimum_cpu(std::string_view architecture, std::span<const std::string> needs);

// Returns the features of every CPU for which ld.so loads the library at `path`: for
// "lib/glibc-hwcaps/x86-64-v3/libtorch_cpu.so", the features of that level in the System V ABI. Returns nullopt if
// ld.so loads the library on every CPU.
[[nodiscard]] std::optional<std::vector<std::string>> list_hwcaps_features(std::string_view path);

// Returns the row that `target` only adds instructions to: code for `target` that uses none of them equals code for
// this row. Returns null if no row qualifies.
[[nodiscard]] const Target* base_target(const Target& target);

// Returns the features that a build for `target` needs and a build for its base row does not. Empty if a mark of the
// row is among them: the check of marks covers that case.
[[nodiscard]] std::vector<std::string> own_features(const Target& target);

}  // namespace pbprobe
