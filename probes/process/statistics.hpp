// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace pbprobe {

// The value with as many samples below as above; the mean of the two middle ones. 0 without samples.
[[nodiscard]] double median(std::span<const double> samples);

// Linear interpolation between neighbours, 0 ≤ fraction ≤ 1.
[[nodiscard]] double quantile(std::span<const double> samples, double fraction);

// (q75 − q25) / median: how far the middle half of the samples spreads. 0 without samples.
[[nodiscard]] double spread(std::span<const double> samples);

// Median of numerator[i] / denominator[i]. Both have one sample a round.
[[nodiscard]] double median_ratio(std::span<const double> numerator, std::span<const double> denominator);

// 2·m·n·k over microseconds, in GFLOP/s (or Gop/s).
[[nodiscard]] double compute_gflops(int64_t m, int64_t n, int64_t k, double microseconds);

// Slice of a peak loop paired with one sample of a kernel.
struct PeakPair {
  double peak_gflops = 0;
  double kernel_gflops = 0;
  double clock_ghz = 0;  // clock read with the peak slice; 0 if not read
};

struct PeakVerdict {
  double fraction = 0;
  double clock_ghz = 0;
  std::string why_not;  // reason for rejecting the fraction; empty if valid
};

// The fraction is the median of the pairs' ratios; pairs whose peak slice is below 90 % of the best are dropped. The
// best peak must be at least `fastest_gflops` (every kernel and peer of the run), and the best quarter of the slices
// within 3 % of one of `allowed` operations per clock and unit, unless one of those is second-hand: it refutes nothing.
[[nodiscard]] PeakVerdict judge_peak(std::span<const PeakPair> pairs, double fastest_gflops,
                                     std::span<const int64_t> allowed, bool second_hand, int64_t units);

}  // namespace pbprobe
