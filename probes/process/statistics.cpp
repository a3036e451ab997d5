// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/process/statistics.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pbprobe {

double quantile(std::span<const double> samples, double fraction) {
  if (samples.empty()) return 0;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
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
  std::ranges::sort(pairs, std::greater(), &PeakPair::peak_gflops);
  pairs.resize(std::max<size_t>(pairs.size() / 4, 1));
  std::vector<double> seen;
  for (const PeakPair& pair : pairs) seen.push_back(pair.peak_gflops / pair.clock_ghz / static_cast<double>(units));
  return median(seen);
}

// Describes how the table contradicts the peak; empty if it does not.
std::string disagreement(double seen, std::span<const int64_t> allowed, bool second_hand) {
  const bool agrees = std::ranges::any_of(allowed, [&](int64_t ops) {
    return std::abs(seen - static_cast<double>(ops)) <= 0.03 * static_cast<double>(ops);
  });
  if (agrees || second_hand) return "";
  return allowed.empty()
             ? fmt::format(
                   "the peak loop shows {:.4g} operations per clock and core, and pbprobe's table for this target "
                   "states none for this type",
                   seen)
             : fmt::format(
                   "the peak loop shows {:.4g} operations per clock and core, and pbprobe's table for this target "
                   "allows {}",
                   seen, fmt::join(allowed, " or "));
}

}  // namespace

PeakVerdict judge_peak(std::span<const PeakPair> pairs, double fastest_gflops, std::span<const int64_t> allowed,
                       bool second_hand, int64_t units) {
  double best = 0;
  for (const PeakPair& pair : pairs) best = std::max(best, pair.peak_gflops);
  if (best <= 0) return {.why_not = "the peak rate was not measured in the same run"};
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
    verdict.why_not = "the clock frequency was not read while the peak rate was measured";
  else
    verdict.why_not = disagreement(ops_per_clock(std::move(clocked), units), allowed, second_hand);
  return verdict;
}

namespace {

constexpr double kConfidence = 0.95;
constexpr size_t kResamples = 4000;

const AreaTiming* find(const std::vector<AreaTiming>& timings, const AreaTiming& like) {
  const auto found = std::ranges::find_if(
      timings, [&](const AreaTiming& timing) { return timing.area == like.area && timing.device == like.device; });
  return found == timings.end() ? nullptr : &*found;
}

// Collects the samples of all areas, without intervals. Leaves out areas that any process lacks.
std::vector<AreaGain> collect(const std::vector<Turn>& rounds) {
  std::vector<AreaGain> gains;
  if (rounds.empty()) return gains;
  for (const AreaTiming& timing : rounds.front().build) {
    AreaGain gain{.area = timing.area, .device = timing.device, .samples_us = {}, .baseline_samples_us = {}};
    for (const Turn& round : rounds) {
      const AreaTiming* ours = find(round.build, timing);
      const AreaTiming* theirs = find(round.baseline, timing);
      if (ours == nullptr || theirs == nullptr) break;
      for (const AreaTiming* side : {ours, theirs})
        if (side->disturbed) gain.disturbed = side->disturbed;
      gain.samples_us.push_back(median(ours->samples_us));
      gain.baseline_samples_us.push_back(median(theirs->samples_us));
    }
    if (gain.samples_us.size() < rounds.size()) continue;
    gain.gain = median(gain.baseline_samples_us) / median(gain.samples_us);
    gains.push_back(std::move(gain));
  }
  return gains;
}

// Returns the rank k such that the interval from the k-th lowest to the k-th highest of `count` values contains their
// median with this confidence, for any distribution: each value is below the median with probability one half. At
// least 1.
size_t find_median_rank(size_t count, double confidence) {
  double chance = std::exp2(-static_cast<double>(count));  // probability of exactly `place` values below the median
  double below = chance;                                   // probability of at most `place` values below the median
  size_t place = 0;
  while (2 * below <= 1 - confidence && 2 * (place + 1) < count) {
    ++place;
    chance *= static_cast<double>(count - place + 1) / static_cast<double>(place);
    below += chance;
  }
  return std::max<size_t>(place, 1);
}

// With few rounds, the bootstrap underestimates bursts of noise on a busy machine. The interval therefore includes the
// interval by ranks.
void widen_by_ranks(AreaGain& gain, double confidence) {
  std::vector<double> ratios;
  for (size_t i = 0; i < gain.samples_us.size(); ++i)
    ratios.push_back(gain.baseline_samples_us[i] / gain.samples_us[i]);
  std::ranges::sort(ratios);
  const size_t place = find_median_rank(ratios.size(), confidence);
  gain.low = std::min(gain.low, ratios[place - 1]);
  gain.high = std::max(gain.high, ratios[ratios.size() - place]);
}

// Draws whole rounds, with both sides together: a disturbance of one side also affected the other.
void add_interval(AreaGain& gain, double confidence, std::mt19937& random) {
  const size_t rounds = gain.samples_us.size();
  std::uniform_int_distribution<size_t> draw(0, rounds - 1);
  std::vector<double> ours(rounds);
  std::vector<double> theirs(rounds);
  std::vector<double> ratios(kResamples);
  for (double& ratio : ratios) {
    for (size_t i = 0; i < rounds; ++i) {
      const size_t round = draw(random);
      ours[i] = gain.samples_us[round];
      theirs[i] = gain.baseline_samples_us[round];
    }
    ratio = median(theirs) / median(ours);
  }
  gain.low = quantile(ratios, (1 - confidence) / 2);
  gain.high = quantile(ratios, (1 + confidence) / 2);
}

Result<std::vector<AreaTiming>> run_timings(const std::function<Result<Measurements>()>& run, const char* which) {
  PBPROBE_TRY(Measurements measurements, run(), "{}", which);
  if (!measurements.libtorch || !measurements.libtorch->executed)
    return make_error(ErrorCode::failed_child, "{}: {}", which,
                      measurements.libtorch ? measurements.libtorch->problem.value_or("libtorch computed nothing")
                                            : "no libtorch was started");
  return std::move(measurements.libtorch->timings);
}

// Alternates the order, because the second process finds a warmer machine.
Result<Turn> take_turn(const GainRequest& request, bool build_first) {
  Turn turn;
  for (const bool build : {build_first, !build_first}) {
    PBPROBE_TRY(auto timings,
                build ? run_timings(request.build, "the build") : run_timings(request.baseline, "the baseline"));
    (build ? turn.build : turn.baseline) = std::move(timings);
  }
  return turn;
}

}  // namespace

std::vector<AreaGain> compute_gains(const std::vector<Turn>& rounds) {
  std::vector<AreaGain> gains = collect(rounds);
  std::mt19937 random(1);  // fixed seed, so that equal figures give equal intervals
  const double confidence = 1 - (1 - kConfidence) / static_cast<double>(std::max<size_t>(gains.size(), 1));
  for (AreaGain& gain : gains) {
    add_interval(gain, confidence, random);
    widen_by_ranks(gain, confidence);
  }
  return gains;
}

Result<std::vector<AreaGain>> measure_gains(const GainRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<Turn> rounds;
  for (int64_t round = 0; round < request.most_rounds; ++round) {
    const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double expected = round == 0 ? 0 : passed / static_cast<double>(round);
    if (passed + expected > request.budget_seconds) break;
    PBPROBE_TRY(Turn turn, take_turn(request, round % 2 == 0));
    rounds.push_back(std::move(turn));
  }
  if (static_cast<int64_t>(rounds.size()) < request.least_rounds)
    return make_error(ErrorCode::limit, "{} rounds of {} fit into {:.0f} s: increase --budget", rounds.size(),
                      request.least_rounds, request.budget_seconds);
  return compute_gains(rounds);
}

}  // namespace pbprobe
