// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/evidence/outliers.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pbprobe {
namespace {

constexpr double kMadToSigma = 1.4826;  // for a normal distribution
constexpr size_t kLeastForRate = 4;
constexpr double kStandardErrors = 3;

// P(T > t) with t = sqrt(df) / tan(angle): the integral of sin^(df - 1) from 0 to angle, by Simpson's rule.
double upper_tail(double angle, double df) {
  constexpr int kSteps = 400;  // even
  const double step = angle / kSteps;
  const auto at = [&](int i) { return std::pow(std::sin(step * i), df - 1); };
  double sum = at(kSteps);
  for (int i = 1; i < kSteps; ++i) sum += (i % 2 == 1 ? 4 : 2) * at(i);
  const double scale = std::exp(std::lgamma((df + 1) / 2) - std::lgamma(df / 2)) / std::sqrt(std::numbers::pi);
  return scale * sum * step / 3;
}

double student_quantile(double tail, double df) {
  double low = 0;
  double high = std::numbers::pi / 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (upper_tail(middle, df) < tail ? low : high) = middle;
  }
  return std::sqrt(df) / std::tan(high);
}

}  // namespace

double find_median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2 == 1) return *half;
  return (*half + *std::max_element(values.begin(), half)) / 2;
}

double outlier_factor(double false_alarm_rate, size_t count) {
  constexpr double kMostDegrees = 1000;  // above, the distribution is normal
  const auto even = static_cast<double>(count - count % 2);
  return student_quantile(false_alarm_rate, std::min(1 + 0.4 * (even - 1), kMostDegrees));
}

OutlierRule outlier_rule(const std::vector<double>& values, bool lower_is_better, const OutlierPolicy& policy) {
  OutlierRule rule{.median = find_median(values)};
  if (values.size() < kLeastForRate) {
    if (values.empty()) return rule;
    const auto [least, most] = std::ranges::minmax_element(values);
    rule.median = lower_is_better ? *least : *most;
    rule.threshold = policy.straggler * rule.median;
    return rule;
  }
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double value : values) deviations.push_back(std::abs(value - rule.median));
  rule.mad = find_median(std::move(deviations));
  rule.k = outlier_factor(policy.false_alarm_rate, values.size());
  rule.threshold = std::max(rule.k * kMadToSigma * rule.mad, policy.floor * rule.median);
  if (values.size() < kFewPeers) rule.threshold = std::min(rule.threshold, policy.straggler * rule.median);
  return rule;
}

bool is_slow(double value, const OutlierRule& rule, bool lower_is_better, size_t count, double spread) {
  const double deficit = lower_is_better ? value - rule.median : rule.median - value;
  const double own = count < kFewPeers ? kStandardErrors * spread * std::abs(value) : 0;
  return deficit > std::max(rule.threshold, own);
}

}  // namespace pbprobe
