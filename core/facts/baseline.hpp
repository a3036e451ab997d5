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

// Gain of the build in one area. Processes of build and baseline took turns on one machine.
struct AreaGain {
  FIELD(std::string, area, "area that was timed");
  FIELD(std::string, device, "cpu or cuda:0");
  FIELD(double, gain, "median time of the baseline / median time of the build") = 0;
  FIELD(double, low, "lower end of the interval; the intervals of all areas hold at once with 95 % confidence") = 0;
  FIELD(double, high, "upper end of the interval") = 0;
  FIELD(std::vector<double>, samples_us, "samples of the build, one per round, microseconds");
  FIELD(std::vector<double>, baseline_samples_us, "samples of the baseline, microseconds");
  FIELD(std::optional<std::string>, disturbed, "other users of the device; a disturbed figure is never judged");
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
  FIELD(std::string, sm, "claimed SM");  // "sm_90"
  FIELD(std::string, baseline_sm, "SM of the compared baseline kernels: sm, or the nearest that the baseline has");
  FIELD(int64_t, kernels, "kernels of the baseline") = 0;
  FIELD(int64_t, missing, "kernels that only the baseline has") = 0;
  FIELD(std::vector<std::string>, first, "the first of them, mangled");
};

// Comparison of the build with a generic libtorch (--baseline): sizes, gains per area, missing kernels.
struct BaselineComparison {
  SCHEMA("pbprobe.baseline/1");
  FIELD(std::string, path, "the other libtorch");
  FIELD(std::vector<std::string>, differences, "differences that make speeds incomparable; empty if comparable");
  FIELD(int64_t, bytes, "size of the build's files") = 0;
  FIELD(int64_t, baseline_bytes, "size of the baseline's files") = 0;
  FIELD(std::vector<AreaGain>, gains, "gains per area; empty if speeds were not compared");
  FIELD(std::optional<std::string>, problem, "reason why speeds were not compared, or only in part");
  FIELD(std::optional<std::vector<MissingKernels>>, missing_kernels,
        "names of missing kernels per claimed SM; null if not compared");
};

}  // namespace pbprobe
