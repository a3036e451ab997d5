// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Which of many equal devices is slow: an outlier on the slow side only, by a rule that outliers do not move.
#pragma once

#include <cstddef>
#include <vector>

namespace pbprobe {

// 0 of an empty one.
[[nodiscard]] double median_of(std::vector<double> values);

// The k for which one of `count` sound ones, normally spread, lies more than k * 1.4826 * MAD below the median with
// this probability: the quantile of Student's t with 1 + 0.4 (n - 1) degrees of freedom, n even. Fitted to simulated
// quantiles at 1e-3 and 1e-4 for 4 to 1,024 devices; a MAD of few devices is itself a guess, so k grows as they get
// fewer.
[[nodiscard]] double outlier_factor(double false_alarm_rate, size_t count);

struct OutlierPolicy {
  double false_alarm_rate = 1e-4;  // of one comparison
  double floor = 0.03;             // of the median: no difference below it counts
  double straggler = 0.25;         // of the median: among fewer than kFewPeers, this is slow whatever the spread
};

// Below it k is so large that the rule would miss a device at half speed.
inline constexpr size_t kFewPeers = 16;

struct OutlierRule {
  double median = 0;  // of two or three: the best, since nothing says which of them is usual
  double mad = 0;
  double k = 0;  // 0: too few for a rate
  double threshold = 0;
};

// median - x > max(k * 1.4826 * MAD, floor) is slow; with lower_is_better, x - median.
[[nodiscard]] OutlierRule outlier_rule(const std::vector<double>& values, bool lower_is_better,
                                       const OutlierPolicy& policy);

// `spread` is the standard error of x, as a share of it: three of them widen the threshold among few peers.
[[nodiscard]] bool is_slow(double value, const OutlierRule& rule, bool lower_is_better, size_t count,
                           double spread = 0);

}  // namespace pbprobe
