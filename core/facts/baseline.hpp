// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Comparison of a build with a generic one: speed where the build claims to be faster, and size.
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
  std::string device;  // "cpu", "cuda:0"
  double gain = 0;     // median time of the baseline / median time of the build
  double low = 0;      // bootstrap interval; the intervals of all areas hold at once with 95 % confidence
  double high = 0;
  std::vector<double> samples_us;  // one per round
  std::vector<double> baseline_samples_us;
  std::optional<std::string> disturbed;  // other users of the GPU; a disturbed figure is never judged
};

// Classifies the interval of a gain: above 1 is a gain, wholly below 0.97 a loss, anything else is not shown. Between
// 0.97 and 1, the linker's code layout can explain the difference.
enum class GainClass : uint8_t { more, not_shown, less };
[[nodiscard]] inline GainClass classify_gain(const AreaGain& gain) {
  if (gain.high < 0.97) return GainClass::less;
  return gain.low > 1 ? GainClass::more : GainClass::not_shown;
}

// Kernels for one SM that a generic libtorch has and the build has not.
struct MissingKernels {
  std::string sm;           // "sm_90"
  std::string baseline_sm;  // SM of the compared baseline kernels: `sm`, or the nearest that the baseline has
  int64_t kernels = 0;      // kernels of the baseline
  int64_t missing = 0;
  std::vector<std::string> first;  // mangled names
};

struct BaselineComparison {
  std::string path;
  std::vector<std::string> differences;  // differences that make speeds incomparable; empty if comparable
  int64_t bytes = 0;                     // size of the build's files
  int64_t baseline_bytes = 0;
  std::vector<AreaGain> gains;                                 // gains per area; empty if not measured
  std::optional<std::string> problem;                          // reason why speeds were not compared, or only in part
  std::optional<std::vector<MissingKernels>> missing_kernels;  // one entry per claimed SM; null if not compared
};

void fields(auto& visit, SameAs<AreaGain> auto& gain) {
  visit("area", gain.area, "area that was timed");
  visit("device", gain.device, "cpu or cuda:0");
  visit("gain", gain.gain, "median time of the baseline / median time of the build");
  visit("low", gain.low, "lower end of the interval; the intervals of all areas hold at once with 95 % confidence");
  visit("high", gain.high, "upper end of the interval");
  visit("samples_us", gain.samples_us, "samples of the build, one per round, microseconds");
  visit("baseline_samples_us", gain.baseline_samples_us, "samples of the baseline, microseconds");
  visit("disturbed", gain.disturbed, "other users of the GPU; a disturbed figure is never judged");
}

void fields(auto& visit, SameAs<MissingKernels> auto& missing) {
  visit("sm", missing.sm, "claimed SM");
  visit("baseline_sm", missing.baseline_sm,
        "SM of the compared baseline kernels: sm, or the nearest that the baseline has");
  visit("kernels", missing.kernels, "kernels of the baseline");
  visit("missing", missing.missing, "kernels that only the baseline has");
  visit("first", missing.first, "the first of them, mangled");
}

void fields(auto& visit, SameAs<BaselineComparison> auto& comparison) {
  visit.constant("schema", "pbprobe.baseline/1");
  visit("path", comparison.path, "the other libtorch");
  visit("differences", comparison.differences, "differences that make speeds incomparable; empty if comparable");
  visit("bytes", comparison.bytes, "size of the build's files");
  visit("baseline_bytes", comparison.baseline_bytes, "size of the baseline's files");
  visit("gains", comparison.gains, "gains per area; empty if speeds were not compared");
  visit("problem", comparison.problem, "reason why speeds were not compared, or only in part");
  visit("missing_kernels", comparison.missing_kernels, "names of missing kernels per claimed SM; null if not compared");
}

}  // namespace pbprobe
