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
};

// What an interval says: above 1 a gain, wholly under 0.97 a loss, else that neither was shown. Between the two it may
// be how the linker laid out what is the same.
enum class Gained : uint8_t { more, not_shown, less };
[[nodiscard]] inline Gained gained(const AreaGain& gain) {
  if (gain.high < 0.97) return Gained::less;
  return gain.low > 1 ? Gained::more : Gained::not_shown;
}

struct BaselineComparison {
  std::string path;
  std::vector<std::string> differences;  // for which a ratio would say nothing of the specialization; empty: comparable
  int64_t bytes = 0;                     // of the build's files
  int64_t baseline_bytes = 0;
  std::vector<AreaGain> gains;         // empty: not measured
  std::optional<std::string> problem;  // why it was not measured, or not wholly
};

template <class Visitor, SameAs<AreaGain> T>
void fields(Visitor& visit, T& gain) {
  visit("area", gain.area);
  visit("device", gain.device, "cpu or cuda:0");
  visit("gain", gain.gain, "median time of the baseline / median time of the build");
  visit("low", gain.low, "of its bootstrap interval; those of all areas hold at once with 95 % confidence");
  visit("high", gain.high);
  visit("samples_us", gain.samples_us, "the build's, one a round");
  visit("baseline_samples_us", gain.baseline_samples_us);
}

template <class Visitor, SameAs<BaselineComparison> T>
void fields(Visitor& visit, T& comparison) {
  visit.constant("schema", "pbprobe.baseline/1");
  visit("path", comparison.path);
  visit("differences", comparison.differences, "for which speeds cannot be compared; empty: comparable");
  visit("bytes", comparison.bytes, "of the build's files");
  visit("baseline_bytes", comparison.baseline_bytes);
  visit("gains", comparison.gains, "empty: speeds were not compared");
  visit("problem", comparison.problem, "why they were not, or not wholly");
}

}  // namespace pbprobe
