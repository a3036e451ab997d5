// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A build beside a generic one: is it faster where it claims to be, and is it smaller?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

// One area of both, each run by processes of its own that took turns on one machine.
struct AreaGain {
  std::string area;
  std::string device;              // "cpu", "cuda:0"
  double gain = 0;                 // median time of the baseline / median time of the build: above 1 it gains
  double low = 0;                  // of the interval that the areas' true gains all lie in, with 95 % confidence
  double high = 0;                 //
  std::vector<double> samples_us;  // one a round: the build's
  std::vector<double> baseline_samples_us;
  std::optional<std::string> disturbed;  // who else used the GPU: such a figure is never judged
};

// What an interval says: above 1 a gain, wholly under 0.97 a loss, else that neither was shown. Between the two it may
// be how the linker laid out what is the same.
enum class Gained : uint8_t { more, not_shown, less };
[[nodiscard]] inline Gained gained(const AreaGain& gain) {
  if (gain.high < 0.97) return Gained::less;
  return gain.low > 1 ? Gained::more : Gained::not_shown;
}

// Kernels for one SM that a generic libtorch has and the build has not.
struct MissingKernels {
  std::string sm;           // "sm_90"
  std::string baseline_sm;  // of which the names are: the same, or the nearest that the baseline has
  int64_t kernels = 0;      // of the baseline
  int64_t missing = 0;
  std::vector<std::string> first;  // as mangled
};

struct BaselineComparison {
  std::string path;
  std::vector<std::string> differences;  // for which a ratio would say nothing of the specialization; empty: comparable
  int64_t bytes = 0;                     // of the build's files
  int64_t baseline_bytes = 0;
  std::vector<AreaGain> gains;                                 // empty: not measured
  std::optional<std::string> problem;                          // why it was not measured, or not wholly
  std::optional<std::vector<MissingKernels>> missing_kernels;  // of each claimed SM; null: names were not compared
};

template <class Visitor, SameAs<AreaGain> T>
void fields(Visitor& visit, T& gain) {
  visit("area", gain.area, "what was timed");
  visit("device", gain.device, "cpu or cuda:0");
  visit("gain", gain.gain, "median time of the baseline / median time of the build");
  visit("low", gain.low, "of its bootstrap interval; those of all areas hold at once with 95 % confidence");
  visit("high", gain.high, "upper end of the interval");
  visit("samples_us", gain.samples_us, "the build's, one a round");
  visit("baseline_samples_us", gain.baseline_samples_us, "the other one's samples, microseconds");
  visit("disturbed", gain.disturbed, "who else used the GPU: such a figure is never judged");
}

template <class Visitor, SameAs<MissingKernels> T>
void fields(Visitor& visit, T& missing) {
  visit("sm", missing.sm, "whose kernels they are");
  visit("baseline_sm", missing.baseline_sm, "whose kernels the baseline's are");
  visit("kernels", missing.kernels, "of the baseline");
  visit("missing", missing.missing, "kernels that only the baseline has");
  visit("first", missing.first, "the first of them, as mangled");
}

template <class Visitor, SameAs<BaselineComparison> T>
void fields(Visitor& visit, T& comparison) {
  visit.constant("schema", "pbprobe.baseline/1");
  visit("path", comparison.path, "the other libtorch");
  visit("differences", comparison.differences, "for which speeds cannot be compared; empty: comparable");
  visit("bytes", comparison.bytes, "of the build's files");
  visit("baseline_bytes", comparison.baseline_bytes, "of the other one");
  visit("gains", comparison.gains, "empty: speeds were not compared");
  visit("problem", comparison.problem, "why they were not, or not wholly");
  visit("missing_kernels", comparison.missing_kernels, "by name, for each claimed SM; null: not compared");
}

}  // namespace pbprobe
