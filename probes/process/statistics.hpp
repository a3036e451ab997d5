// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/facts/baseline.hpp"
#include "core/facts/measurement.hpp"
#include "core/result.hpp"

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

// One round: a process of the build and a process of its baseline, close in time.
struct Turn {
  std::vector<AreaTiming> build;
  std::vector<AreaTiming> baseline;
};

// Computes the gain of each area that both builds have in every round. Each process contributes the median of its
// samples. The interval is a percentile bootstrap over the rounds for the ratio of medians, widened to the
// distribution-free interval by ranks of the rounds' ratios. A Bonferroni correction makes the intervals of all areas
// hold at once with 95 %; without it, one of eleven equal areas would seem different every second time. Sources: B.
// Efron and R. Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13; H. David and H. Nagaraja, Order
// Statistics, 2003, section 7.1.
[[nodiscard]] std::vector<AreaGain> compute_gains(const std::vector<Turn>& rounds);

struct GainRequest {
  std::function<Result<Measurements>()> build;  // runs one process and returns its libtorch timings
  std::function<Result<Measurements>()> baseline;
  int64_t least_rounds = 12;  // fewer cannot speak for a hundred areas: 100 · 2^(1 - 12) is 5 %
  int64_t most_rounds = 20;
  double budget_seconds = 120;
};

// Runs them interleaved, the first one alternating. Errors: failed_child (one of them did not run; named), limit (the
// budget did not suffice for the least rounds).
[[nodiscard]] Result<std::vector<AreaGain>> measure_gains(const GainRequest& request);

}  // namespace pbprobe
