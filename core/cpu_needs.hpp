// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What code needs of a CPU, compared with the CPU rows of the target table.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/targets.hpp"

namespace pbprobe {

// Those of `wanted` that `there` has not, in their order.
[[nodiscard]] std::vector<std::string> missing_features(std::span<const std::string> wanted,
                                                        std::span<const std::string> there);

// What code for this CPU target may use: all that every CPU of the target has.
[[nodiscard]] std::vector<std::string> features_for(const Target& target);

// Those of `needs` that this CPU is known to lack: a name that no row of its architecture has says nothing of a host.
[[nodiscard]] std::vector<std::string> lacking_features(std::string_view architecture,
                                                        std::span<const std::string> needs,
                                                        std::span<const std::string> host_features);

// Reports whether a CPU can have all of these features: none has FMA4 and AVX-512, or Knights Landing's AVX-512ER and
// AVX-512VL, and none that is sold has APX or AVX10.2. A set without a CPU comes of code that is chosen at run time.
[[nodiscard]] bool has_some_cpu(std::span<const std::string> features);

inline constexpr std::string_view kUnknownCpu = "not known";

// The minimum CPU for code that needs these features: a target's id; the architecture's name where none is needed.
// What no fitting row has is added by name: "x86_64+sse4_1".
[[nodiscard]] std::string minimum_cpu(std::string_view architecture, std::span<const std::string> needs);

// What a CPU has where ld.so takes the library of this path: of "lib/glibc-hwcaps/x86-64-v3/libtorch_cpu.so" all that
// the System V ABI's level names. Null: the library is taken on every CPU.
[[nodiscard]] std::optional<std::vector<std::string>> promised_by_loader(std::string_view path);

// The row that this CPU target only adds instructions to, so that code without them is the same as code for that row;
// null where there is none.
[[nodiscard]] const Target* base_target(const Target& target);

// What a build for this target needs that one for its base row does not, where that is not a mark of the row: code may
// be made for the row, and still use none of it.
[[nodiscard]] std::vector<std::string> own_features(const Target& target);

}  // namespace pbprobe
