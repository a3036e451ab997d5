// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/process/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pbprobe {

double quantile(std::span<const double> samples, double fraction) {
  if (samples.empty()) return 0;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(std::floor(place));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median(std::span<const double> samples) {
  return quantile(samples, 0.5);
}

double spread(std::span<const double> samples) {
  const double middle = median(samples);
  return middle > 0 ? (quantile(samples, 0.75) - quantile(samples, 0.25)) / middle : 0;
}

double median_ratio(std::span<const double> numerator, std::span<const double> denominator) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(numerator.size(), denominator.size()); ++i)
    if (denominator[i] > 0) ratios.push_back(numerator[i] / denominator[i]);
  return median(ratios);
}

double compute_gflops(int64_t m, int64_t n, int64_t k, double microseconds) {
  if (microseconds <= 0) return 0;
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / microseconds * 1e-3;
}

namespace {

// Operations per clock and unit, by the best quarter of the slices: the others shared their cores with something else.
double ops_per_clock(std::vector<PeakPair> pairs, int64_t units) {
  std::sort(pairs.begin(), pairs.end(),
            [](const PeakPair& a, const PeakPair& b) { return a.peak_gflops > b.peak_gflops; });
  pairs.resize(std::max<size_t>(pairs.size() / 4, 1));
  std::vector<double> seen;
  for (const PeakPair& pair : pairs) seen.push_back(pair.peak_gflops / pair.clock_ghz / static_cast<double>(units));
  return median(seen);
}

// Describes how the table contradicts the peak; empty if it does not.
std::string disagreement(double seen, std::span<const int64_t> allowed, bool second_hand) {
  const bool agrees = std::any_of(allowed.begin(), allowed.end(), [&](int64_t ops) {
    return std::abs(seen - static_cast<double>(ops)) <= 0.03 * static_cast<double>(ops);
  });
  if (agrees || second_hand) return "";
  const std::string shows =
      fmt::format("the peak loop shows {:.4g} operations per clock and core, and the target's row", seen);
  return allowed.empty() ? shows + " states none for this type"
                         : fmt::format("{} allows {}", shows, fmt::join(allowed, " or "));
}

}  // namespace

PeakVerdict judge_peak(std::span<const PeakPair> pairs, double fastest_gflops, std::span<const int64_t> allowed,
                       bool second_hand, int64_t units) {
  double best = 0;
  for (const PeakPair& pair : pairs) best = std::max(best, pair.peak_gflops);
  if (best <= 0) return {.why_not = "no peak was measured in the same run"};
  std::vector<double> ratios, clocks;
  std::vector<PeakPair> clocked;
  for (const PeakPair& pair : pairs) {
    if (pair.peak_gflops < 0.9 * best) continue;
    ratios.push_back(pair.kernel_gflops / pair.peak_gflops);
    if (pair.clock_ghz <= 0) continue;
    clocks.push_back(pair.clock_ghz);
    clocked.push_back(pair);
  }
  PeakVerdict verdict{.fraction = median(ratios), .clock_ghz = median(clocks)};
  if (best < fastest_gflops)
    verdict.why_not = fmt::format(
        "the best rate of the peak loop, {:.4g} Gop/s, is below the {:.4g} Gop/s of the kernel", best, fastest_gflops);
  else if (clocked.empty())
    verdict.why_not = "no clock was read with the peak";
  else
    verdict.why_not = disagreement(ops_per_clock(std::move(clocked), units), allowed, second_hand);
  return verdict;
}

}  // namespace pbprobe
