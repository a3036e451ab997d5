// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Figures, lateness and links by the outlier rule, each among its equals.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "probes/judge/fleet_ranks.hpp"
#include "probes/judge/outliers.hpp"

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
    "look at its clocks, power cap, temperature and throttle reasons (nvidia-smi -q), and at what else runs there";

Entries figures_of(JudgedRanks& ranks) {
  Entries all;
  for (auto& rank : ranks) {
    if (rank.report == nullptr) continue;
    for (const auto& [name, figure] : rank.report->figures) {
      if (figure.verified == false) continue;  // a wrong result has no speed
      all[{rank.row.device, name, figure.lower_is_better}].push_back({&rank, figure.value, figure.spread.value_or(0)});
    }
  }
  return all;
}

std::vector<double> values_of(const std::vector<RankEntry>& entries) {
  std::vector<double> values;
  values.reserve(entries.size());
  for (const auto& entry : entries) values.push_back(entry.value);
  return values;
}

// Its share of the rate for each figure that a rank has.
OutlierPolicy share_of(const FleetPolicy& policy, size_t comparisons) {
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

bool same_node(const JudgedRank& one, const JudgedRank& other) {
  return one.host == other.host;
}

struct SeenLink {
  JudgedRank* from = nullptr;
  JudgedRank* to = nullptr;
  FleetLink row;
  double slower = 0;  // than the median, as a share
};

std::vector<SeenLink> links_of(JudgedRanks& ranks) {
  std::map<int64_t, JudgedRank*> by_rank;
  for (auto& rank : ranks) by_rank[rank.row.rank] = &rank;
  std::vector<SeenLink> all;
  for (auto& rank : ranks) {
    if (rank.report == nullptr) continue;
    for (const auto& link : rank.report->links) {
      const auto peer = by_rank.find(link.peer);
      if (peer == by_rank.end()) continue;
      Outcome outcome = Outcome::unknown;
      if (link.verified) outcome = *link.verified ? Outcome::pass : Outcome::fail;
      all.push_back(
          {&rank,
           peer->second,
           {rank.row.rank, link.peer, link.gb_per_s, link.latency_us, same_node(rank, *peer->second), outcome}});
    }
  }
  return all;
}

// A link has two ends. The one where half of the links are slow is at fault; of neither: nobody knows which.
void blame(const std::vector<SeenLink>& links, const std::vector<const SeenLink*>& slow) {
  std::map<JudgedRank*, int64_t> measured;
  std::map<JudgedRank*, int64_t> bad;
  for (const auto& link : links) {
    ++measured[link.from];
    ++measured[link.to];
  }
  for (const auto* link : slow) {
    ++bad[link->from];
    ++bad[link->to];
  }
  std::set<JudgedRank*> at_fault;
  int64_t most = 0;
  for (const auto& [rank, count] : bad) most = std::max(most, count);
  for (const auto& [rank, count] : bad) {
    if (2 * count >= measured[rank] && (count == most || 2 * count > measured[rank])) at_fault.insert(rank);
  }
  const char* const fix = "look at its NVLink, PCIe or network port (nvidia-smi nvlink -s, ethtool -S, ibstat)";
  for (auto* rank : at_fault)
    add_finding(rank->row, FleetFault::slow_link, Outcome::fail,
                fmt::format("{} of its {} links are slow", bad[rank], measured[rank]), fix);
  for (const auto* link : slow) {
    if (at_fault.contains(link->from) || at_fault.contains(link->to)) continue;
    for (auto* rank : {link->from, link->to})
      add_finding(rank->row, FleetFault::slow_link, Outcome::unknown,
                  fmt::format("the link from {} to {} is {:.0f} % slower than the median, and which end is at fault is "
                              "not known",
                              name_of(*link->from), name_of(*link->to), 100 * link->slower),
                  fix);
  }
}

const FleetRank* find_rank(const std::map<std::pair<std::string, int64_t>, const FleetRank*>& ranks,
                           const JudgedRank& rank) {
  const auto found = ranks.find({rank.host, rank.row.local_rank});
  return found == ranks.end() ? nullptr : found->second;
}

}  // namespace

void judge_figures(Fleet& fleet, JudgedRanks& ranks, const FleetPolicy& policy) {
  const OutlierPolicy share = share_of(policy, most_figures(ranks));
  for (const auto& [key, entries] : figures_of(ranks)) {
    const OutlierRule rule = outlier_rule(values_of(entries), key.lower_is_better, share);
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
    if (rank.report == nullptr || rank.report->late_ms.empty()) continue;
    entries.push_back({&rank, median_of(rank.report->late_ms)});
    const auto step = rank.report->figures.find("lockstep_step_ms");
    if (step != rank.report->figures.end()) steps.push_back(step->second.value);
  }
  if (entries.size() < 2 || steps.empty()) return;
  const double step = median_of(steps);
  // Lateness is near 0 where all is well, so a share of it says nothing: the floors are shares of the step.
  const OutlierPolicy share = share_of(policy, 1);
  OutlierRule rule = outlier_rule(values_of(entries), true, share);
  const double floor = entries.size() < kFewPeers ? share.straggler : share.floor;
  rule.threshold = std::max(entries.size() < kFewPeers ? 0 : rule.threshold, floor * step);
  for (const auto& entry : entries) {
    if (!is_slow(entry.value, rule, true, entries.size())) continue;
    add_finding(
        entry.rank->row, FleetFault::late, Outcome::fail,
        fmt::format("in lockstep it comes {:.3g} ms after the first, the median of {} is {:.3g} ms, in steps of "
                    "{:.3g} ms: every other rank waits for it",
                    entry.value, entries.size(), rule.median, step),
        kLookAtGpu);
  }
}

void judge_links(Fleet& fleet, JudgedRanks& ranks, const FleetPolicy& policy) {
  auto links = links_of(ranks);
  std::vector<const SeenLink*> slow;
  for (const bool within : {true, false}) {
    std::vector<double> rates;
    for (const auto& link : links) {
      if (link.row.within_node == within && link.row.outcome != Outcome::fail) rates.push_back(link.row.gb_per_s);
    }
    OutlierPolicy share = share_of(policy, 1);
    share.floor = 0.1;      // what neighbours on a switch take from each other
    share.straggler = 0.5;  // the same among few
    const OutlierRule rule = outlier_rule(rates, false, share);
    for (auto& link : links) {
      if (link.row.within_node != within || link.row.outcome == Outcome::fail || rates.size() < 2) continue;
      if (!is_slow(link.row.gb_per_s, rule, false, rates.size())) continue;
      link.row.outcome = Outcome::fail;
      link.slower = 1 - link.row.gb_per_s / rule.median;
      slow.push_back(&link);
    }
  }
  blame(links, slow);
  for (auto& link : links) fleet.links.push_back(link.row);
}

void judge_against_baseline(Fleet& fleet, JudgedRanks& ranks, const FleetPolicy& policy) {
  if (!policy.baseline) return;
  fleet.baseline = policy.baseline_name;
  std::map<std::pair<std::string, int64_t>, const FleetRank*> before;
  for (const auto& node : policy.baseline->nodes) {
    for (const auto& rank : node.ranks) before[{node.host, rank.local_rank}] = &rank;
  }
  const OutlierPolicy share = share_of(policy, most_figures(ranks));
  for (const auto& [key, entries] : figures_of(ranks)) {
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
    OutlierRule rule = outlier_rule(values_of(speeds), false, share);
    if (speeds.size() < kFewPeers) {
      rule.median = 1;
      rule.threshold = share.straggler;
    } else if (rule.median < 1 - share.floor) {
      fleet.problems.push_back(fmt::format("{} of {}: the whole fleet is {:.1f} % slower than {}", key.figure,
                                           key.device, 100 * (1 - rule.median), policy.baseline_name));
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
