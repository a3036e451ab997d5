// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Finds slow devices among many equal devices, by a rule that outliers do not shift.
#pragma once

#include <cstddef>
#include <vector>

namespace pbprobe {

// Returns the median; 0 if `values` is empty.
[[nodiscard]] double find_median(std::vector<double> values);

// Returns k: one of `count` sound, normally distributed devices is k * 1.4826 * MAD below the median with this
// probability. k is the quantile of Student's t with 1 + 0.4 (n - 1) degrees of freedom, n even, fitted to simulated
// quantiles at 1e-3 and 1e-4 for 4 to 1,024 devices. The MAD of few devices is uncertain, and so k is larger for few.
[[nodiscard]] double outlier_factor(double false_alarm_rate, size_t count);

struct OutlierPolicy {
  double false_alarm_rate = 1e-4;  // probability in one comparison
  double floor = 0.03;             // share of the median that a slow device differs by at least
  double straggler = 0.25;         // share of the median that is slow with any spread, below kFewPeers devices
};

// With fewer devices, k is so large that the rule would miss a device at half speed.
inline constexpr size_t kFewPeers = 16;

struct OutlierRule {
  double median = 0;  // the best value of two or three devices, since their usual value is unknown
  double mad = 0;
  double k = 0;  // 0 for fewer than four devices
  double threshold = 0;
};

// Computes the rule: x is slow if median - x > max(k * 1.4826 * MAD, floor); if lower_is_better, x - median.
[[nodiscard]] OutlierRule outlier_rule(const std::vector<double>& values, bool lower_is_better,
                                       const OutlierPolicy& policy);

// Reports whether `value` is slow. `spread` is its relative standard error; below kFewPeers devices, the threshold is
// at least three standard errors.
[[nodiscard]] bool is_slow(double value, const OutlierRule& rule, bool lower_is_better, size_t count,
                           double spread = 0);

}  // namespace pbprobe
