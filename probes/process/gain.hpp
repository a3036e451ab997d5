// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Is one libtorch faster than another on this machine, and in what?
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/facts/baseline.hpp"
#include "core/facts/measurement.hpp"
#include "core/result.hpp"

namespace pbprobe {

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
