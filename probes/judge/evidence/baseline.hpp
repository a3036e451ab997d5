// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Compares a build with a generic build: comparability, speed, size, and kernels.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/baseline.hpp"
#include "core/facts/claim.hpp"
#include "core/facts/inventory.hpp"
#include "core/facts/reference.hpp"
#include "core/facts/verdict.hpp"

namespace pbprobe {

// Compares sizes, and the torch version, CUDA line, BLAS, oneDNN and thread runtime that the files show. A property
// that a build does not show counts as a difference. Measuring fills in the speeds.
[[nodiscard]] BaselineComparison compare_builds(const Inventory& build, const Inventory& baseline);

// Finds, for each claimed SM, the kernels of libtorch_cuda.so that the baseline has for this SM or the nearest one, and
// the build lacks. Returns nullopt if the names were not read, or the releases of torch or CUDA differ.
[[nodiscard]] std::optional<std::vector<MissingKernels>> compare_kernels(const Inventory& build,
                                                                         const Inventory& baseline, const Claim& claim);

// Counts the machine code of `baseline` per SM, without SMs with a suffix (sm_90a), to replace
// recipes/reference_builds.json. Returns nullopt if the torch releases differ, or no census of libtorch_cuda.so exists.
[[nodiscard]] std::optional<ReferenceBuild> make_reference(const Inventory& build, const Inventory& baseline);

// Removes from a kernel name what differs between builds: hashes of file names, and lists of SMs in namespaces.
[[nodiscard]] std::string stable_name(std::string_view name);

// Returns "softmax on cpu: 1.31 times as fast (1.27 to 1.36)".
[[nodiscard]] std::string describe_gain(const AreaGain& gain);

// Returns "612 MB against 1730 MB of the baseline (-65 %; specialized builds promise 50 to 70 % less)".
[[nodiscard]] std::string size_sentence(const BaselineComparison& comparison);

// Result of the measured areas of one device ("cpu", "cuda:0"): pass if no area is slower than the baseline. `detail`
// lists gains, or the reason for "unknown".
struct Measured {
  Outcome outcome = Outcome::unknown;
  std::string detail;
};
[[nodiscard]] Measured summarize_gains(const std::optional<BaselineComparison>& comparison, std::string_view device);

}  // namespace pbprobe
