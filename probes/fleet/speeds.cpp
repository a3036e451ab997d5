// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Figures and lateness by the outlier rule, each among its equals.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "probes/fleet/ranks.hpp"
#include "probes/judge/evidence/outliers.hpp"

namespace pbprobe {
namespace {

struct RankEntry {
  JudgedRank* rank = nullptr;
  double value = 0;
  double spread = 0;
};

struct FigureKey {
  std::string device;
  std::string figure;
  bool lower_is_better = false;
  bool operator<(const FigureKey& other) const {
    return std::tie(device, figure, lower_is_better) < std::tie(other.device, other.figure, other.lower_is_better);
  }
};

using Entries = std::map<FigureKey, std::vector<RankEntry>>;

constexpr const char* kLookAtGpu =
    "look at the GPU's clocks, power cap, temperature and throttle reasons (nvidia-smi -q), and at what else runs "
    "there";

Entries collect_figures(JudgedRanks& ranks) {
  Entries all;
  for (auto& rank : ranks) {
    if (rank.report == nullptr || rank.is_crowded) continue;
    for (const auto& [name, figure] : rank.report->figures) {
      if (figure.verified == false) continue;  // a wrong result has no speed
      all[{rank.row.device, name, figure.lower_is_better}].push_back({&rank, figure.value, figure.spread.value_or(0)});
    }
  }
  return all;
}

std::vector<double> list_values(const std::vector<RankEntry>& entries) {
  std::vector<double> values;
  values.reserve(entries.size());
  for (const auto& entry : entries) values.push_back(entry.value);
  return values;
}

// Divides the false alarm rate of a rank among its figures.
OutlierPolicy divide_false_alarms(const FleetPolicy& policy, size_t comparisons) {
  return {.false_alarm_rate = policy.false_alarm_rate / static_cast<double>(std::max<size_t>(comparisons, 1)),
          .floor = policy.floor};
}

size_t most_figures(const JudgedRanks& ranks) {
  size_t most = 0;
  for (const auto& rank : ranks) {
    if (rank.report != nullptr) most = std::max(most, rank.report->figures.size());
  }
  return most;
}

const FleetRank* find_rank(const std::map<std::pair<std::string, int64_t>, const FleetRank*>& ranks,
                           const JudgedRank& rank) {
  const auto found = ranks.find({rank.host, rank.row.local_rank});
  return found == ranks.end() ? nullptr : found->second;
}

}  // namespace

void judge_figures(Fleet& fleet, JudgedRanks& ranks, const FleetPolicy& policy) {
  const OutlierPolicy share = divide_false_alarms(policy, most_figures(ranks));
  for (const auto& [key, entries] : collect_figures(ranks)) {
    const OutlierRule rule = outlier_rule(list_values(entries), key.lower_is_better, share);
    FleetRule row{.figure = key.figure,
                  .device = key.device,
                  .lower_is_better = key.lower_is_better,
                  .count = static_cast<int64_t>(entries.size()),
                  .median = rule.median,
                  .mad = rule.mad,
                  .k = rule.k,
                  .threshold = rule.threshold};
    for (const auto& entry : entries) {
      if (entries.size() < 2 || !is_slow(entry.value, rule, key.lower_is_better, entries.size(), entry.spread))
        continue;
      ++row.slow;
      const double share_slower = 100 * std::abs(entry.value - rule.median) / rule.median;
      add_finding(
          entry.rank->row, FleetFault::slow, Outcome::fail,
          fmt::format("{} {:.4g}, {:.1f} % {} than the {} of {} ({:.4g}); the rule allows {:.1f} %", key.figure,
                      entry.value, share_slower, key.lower_is_better ? "longer" : "slower",
                      rule.k > 0 ? "median" : "best", entries.size(), rule.median, 100 * rule.threshold / rule.median),
          kLookAtGpu);
    }
    fleet.rules.push_back(std::move(row));
  }
}

void judge_lateness(JudgedRanks& ranks, const FleetPolicy& policy) {
  std::vector<RankEntry> entries;
  std::vector<double> steps;
  for (auto& rank : ranks) {
    if (rank.report == nullptr || rank.is_crowded || rank.report->late_ms.empty()) continue;
    entries.push_back({&rank, find_median(rank.report->late_ms)});
    const auto step = rank.report->figures.find("lockstep_step_ms");
    if (step != rank.report->figures.end()) steps.push_back(step->second.value);
  }
  if (entries.size() < 2 || steps.empty()) return;
  const double step = find_median(steps);
  // Lateness of sound ranks is near 0, so that a share of it proves little; the floors are shares of the step.
  const OutlierPolicy share = divide_false_alarms(policy, 1);
  OutlierRule rule = outlier_rule(list_values(entries), true, share);
  const double floor = entries.size() < kFewPeers ? share.straggler : share.floor;
  rule.threshold = std::max(entries.size() < kFewPeers ? 0 : rule.threshold, floor * step);
  for (const auto& entry : entries) {
    if (!is_slow(entry.value, rule, true, entries.size())) continue;
    add_finding(entry.rank->row, FleetFault::late, Outcome::fail,
                fmt::format("in lockstep this rank arrives {:.3g} ms after the first rank, the median of {} ranks is "
                            "{:.3g} ms, in steps of {:.3g} ms: every other rank waits for it",
                            entry.value, entries.size(), rule.median, step),
                kLookAtGpu);
  }
}

void judge_against_baseline(Fleet& fleet, JudgedRanks& ranks, const FleetPolicy& policy) {
  if (!policy.baseline) return;
  fleet.baseline = policy.baseline_name;
  std::map<std::pair<std::string, int64_t>, const FleetRank*> before;
  for (const auto& node : policy.baseline->nodes) {
    for (const auto& rank : node.ranks) before[{node.host, rank.local_rank}] = &rank;
  }
  const OutlierPolicy share = divide_false_alarms(policy, most_figures(ranks));
  for (const auto& [key, entries] : collect_figures(ranks)) {
    std::vector<RankEntry> speeds;  // 1: as fast as before
    for (const auto& entry : entries) {
      const FleetRank* const old = find_rank(before, *entry.rank);
      const auto was = old == nullptr ? std::map<std::string, double>::const_iterator() : old->figures.find(key.figure);
      if (old == nullptr || old->device != key.device || was == old->figures.end()) continue;
      if (was->second <= 0 || entry.value <= 0) continue;
      const double speed = key.lower_is_better ? was->second / entry.value : entry.value / was->second;
      speeds.push_back({entry.rank, speed, entry.spread});
    }
    if (speeds.empty()) continue;
    OutlierRule rule = outlier_rule(list_values(speeds), false, share);
    if (speeds.size() < kFewPeers) {
      rule.median = 1;
      rule.threshold = share.straggler;
    } else if (rule.median < 1 - share.floor) {
      fleet.problems.push_back(fmt::format("{} of {}: the whole fleet is {:.1f} % slower than the baseline {}",
                                           key.figure, key.device, 100 * (1 - rule.median), policy.baseline_name));
    }
    for (const auto& entry : speeds) {
      if (!is_slow(entry.value, rule, false, speeds.size(), entry.spread)) continue;
      add_finding(
          entry.rank->row, FleetFault::slower, Outcome::fail,
          fmt::format("{} is {:.1f} % slower than in {}", key.figure, 100 * (1 - entry.value), policy.baseline_name),
          "see what changed there since: driver, power cap, cooling, other work");
    }
  }
}

}  // namespace pbprobe
