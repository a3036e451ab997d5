// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A build beside a generic one: may their speeds be compared, what do they say, and is it smaller?
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

// Differences and sizes; speeds are left to be measured. What counts: torch's version (which fixes oneDNN's), the CUDA
// line, BLAS, and the thread runtime, as the files tell them. What one of them does not tell is a difference too.
[[nodiscard]] BaselineComparison compare_builds(const Inventory& build, const Inventory& baseline);

// Kernels of libtorch_cuda.so by name, for each claimed SM: those of the baseline for that SM, or for the nearest,
// which the build has not. Null where names were not read, or torch or CUDA are of other releases.
[[nodiscard]] std::optional<std::vector<MissingKernels>> compare_kernels(const Inventory& build,
                                                                         const Inventory& baseline, const Claim& claim);

// What a build of that version holds, by a generic one instead of recipes/reference_builds.json: libtorch_cuda.so's
// machine code for each SM without a suffix. Null: its torch is of another release.
[[nodiscard]] std::optional<ReferenceBuild> reference_of(const Inventory& build, const Inventory& baseline);

// A kernel's name without what changes from build to build: hashes of file names, and lists of SMs in namespaces.
[[nodiscard]] std::string stable_name(std::string_view name);

// "softmax on cpu: 1.31 times as fast (1.27 to 1.36)"
[[nodiscard]] std::string sentence_of(const AreaGain& gain);

// "612 MB against 1730 MB (-65 %; 50 to 70 % less is promised)"
[[nodiscard]] std::string size_sentence(const BaselineComparison& comparison);

// Were the areas of this device measured ("cpu", "cuda:0"), and is none slower? The detail says what gained, or why
// nothing is known.
struct Measured {
  Outcome outcome = Outcome::unknown;
  std::string detail;
};
[[nodiscard]] Measured measured_on(const std::optional<BaselineComparison>& comparison, std::string_view device);

}  // namespace pbprobe
