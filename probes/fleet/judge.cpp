// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/fleet/judge.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/version.hpp"
#include "probes/fleet/ranks.hpp"

namespace pbprobe {
namespace {

constexpr int64_t kMostRanks = 1'000'000;  // a document that says more is broken
constexpr size_t kMostNamed = 4;

std::string get_host(const NodeReport& document, size_t index) {
  return document.host.value_or(fmt::format("(document {})", index + 1));
}

FleetRank make_fleet_row(const RankReport& report) {
  FleetRank row{.rank = report.rank, .local_rank = report.local_rank, .device = report.device, .uuid = report.uuid};
  for (const auto& [name, figure] : report.figures) row.figures.emplace(name, figure.value);
  row.late_ms = report.late_ms;
  return row;
}

// Later documents replace earlier ones of the same rank, but none that is finished.
JudgedRanks collect_ranks(const std::vector<NodeReport>& documents) {
  std::map<std::pair<std::string, int64_t>, size_t> places;
  JudgedRanks ranks;
  for (size_t i = 0; i < documents.size(); ++i) {
    const NodeReport& document = documents[i];
    for (const auto& report : document.ranks) {
      JudgedRank rank{&document, &report, get_host(document, i), make_fleet_row(report)};
      const auto [found, is_new] = places.try_emplace({rank.host, report.local_rank}, ranks.size());
      if (is_new) {
        ranks.push_back(std::move(rank));
      } else if (ranks[found->second].report->state != RankState::finished || report.state == RankState::finished) {
        ranks[found->second] = std::move(rank);
      }
    }
  }
  std::ranges::stable_sort(ranks, [](const auto& a, const auto& b) {
    return std::tie(a.host, a.row.local_rank) < std::tie(b.host, b.row.local_rank);
  });
  return ranks;
}

// Numbers the ranks if a document belongs to no job; ranks of a job keep the numbers of the job.
void number(JudgedRanks& ranks) {
  const bool job = std::ranges::all_of(ranks, [](const auto& rank) { return rank.document->world.has_value(); });
  for (size_t i = 0; i < ranks.size() && !job; ++i) ranks[i].row.rank = static_cast<int64_t>(i);
}

void add_missing_ranks(Fleet& fleet, JudgedRanks& ranks, const std::vector<NodeReport>& documents) {
  int64_t world = 0;
  const std::vector<std::string>* roster = nullptr;
  for (const auto& document : documents) {
    world = std::max(world, document.world.value_or(0));
    if (!document.roster.empty()) roster = &document.roster;
  }
  if (world > kMostRanks) {
    fleet.problems.push_back(
        fmt::format("a node's report states {} ranks, and pbprobe reads at most {}: missing ranks are not reported",
                    world, kMostRanks));
    world = 0;
  }
  std::set<int64_t> here;
  for (const auto& rank : ranks) here.insert(rank.row.rank);
  for (int64_t rank = 0; rank < world; ++rank) {
    if (here.contains(rank)) continue;
    const auto index = static_cast<size_t>(rank);
    const bool came = roster != nullptr && index < roster->size() && !(*roster)[index].empty();
    JudgedRank missing{.host = came ? (*roster)[index] : "(unknown host)"};
    missing.row.rank = rank;
    missing.row.local_rank = came ? -1 - rank : rank;  // unknown local rank: sorts after known ones
    add_finding(missing.row, FleetFault::missing, Outcome::unknown,
                came ? "the rank joined the job, and wrote no report" : "it never came",
                "look into the launcher's log for the rank: no GPU, a host that is down, a firewall");
    ranks.push_back(std::move(missing));
  }
}

void add_missing_hosts(JudgedRanks& ranks, const FleetPolicy& policy) {
  std::set<std::string> here;
  for (const auto& rank : ranks) here.insert(rank.host);
  const auto expect = [&](const std::string& host, const char* where) {
    if (!here.insert(host).second) return;
    JudgedRank missing{.host = host};
    missing.row.rank = -1;
    add_finding(missing.row, FleetFault::missing, Outcome::unknown, fmt::format("no report of it; {}", where),
                "run pbprobe.fleet on this host, or leave the host out of the list of expected hosts");
    ranks.push_back(std::move(missing));
  };
  for (const auto& host : policy.expected) expect(host, "it was expected");
  if (!policy.baseline) return;
  for (const auto& node : policy.baseline->nodes) {
    if (!node.host.starts_with('(')) expect(node.host, "the baseline has it");
  }
}

// Blames a rank for the data that other ranks received from it and found wrong.
void add_what_others_saw(JudgedRanks& ranks) {
  std::map<int64_t, JudgedRank*> by_rank;
  std::map<int64_t, std::map<int64_t, const WrongResult*>> witnesses;
  for (auto& rank : ranks) {
    by_rank[rank.row.rank] = &rank;
    if (rank.report == nullptr) continue;
    for (const auto& wrong : rank.report->wrong) {
      if (wrong.by_rank && *wrong.by_rank != rank.row.rank) witnesses[*wrong.by_rank][rank.row.rank] = &wrong;
    }
  }
  for (const auto& [who, seen_by] : witnesses) {
    const auto found = by_rank.find(who);
    if (found == by_rank.end()) continue;
    const WrongResult& first = *seen_by.begin()->second;
    add_finding(
        found->second->row, FleetFault::wrong, Outcome::fail,
        fmt::format("{}: what it sent arrived wrong at {} of the others{}", first.what, seen_by.size(),
                    first.expected && first.got ? fmt::format(" ({} instead of {})", *first.got, *first.expected) : ""),
        "run pbprobe.fleet again on this node and each of the others; if the fault repeats, take the node out of "
        "service");
  }
}

void conclude(JudgedRank& rank) {
  auto& findings = rank.row.findings;
  std::ranges::stable_sort(findings, [](const auto& a, const auto& b) {
    return std::pair(rank_severity(a.outcome), a.fault) < std::pair(rank_severity(b.outcome), b.fault);
  });
  rank.row.outcome = findings.empty() ? Outcome::pass : findings.front().outcome;
}

bool excludes(const FleetFinding& finding) {
  switch (finding.fault) {
    case FleetFault::died:
    case FleetFault::hung:
    case FleetFault::missing: return true;
    case FleetFault::different:  // a package to install, not a node to avoid
    case FleetFault::error: return false;
    default: return finding.outcome == Outcome::fail;
  }
}

void add_nodes(Fleet& fleet, JudgedRanks& ranks) {
  std::map<std::string, FleetNode> nodes;
  for (auto& rank : ranks) {
    conclude(rank);
    FleetNode& node = nodes[rank.host];
    node.host = rank.host;
    node.ranks.push_back(std::move(rank.row));
  }
  for (auto& [host, node] : nodes) {
    const auto worst = std::ranges::min_element(
        node.ranks, [](const auto& a, const auto& b) { return rank_severity(a.outcome) < rank_severity(b.outcome); });
    node.outcome = worst->outcome;
    for (const auto& rank : node.ranks) node.excluded = node.excluded || std::ranges::any_of(rank.findings, excludes);
    node.excluded = node.excluded && !host.starts_with('(');
    if (worst->findings.empty()) {
      node.reason = fmt::format("{} of {} pass", node.ranks.size(), node.ranks.size());
    } else {
      const auto& finding = worst->findings.front();
      node.reason = worst->rank < 0 ? finding.what : fmt::format("rank {}: {}", worst->rank, finding.what);
      node.fix = finding.fix;
    }
    fleet.nodes.push_back(std::move(node));
  }
}

void add_collectives(Fleet& fleet, const JudgedRanks& ranks) {
  struct Rates {
    std::vector<double> alg;
    std::vector<double> bus;
    Outcome verified = Outcome::pass;
  };
  std::map<std::tuple<std::string, int64_t, int64_t>, Rates> all;
  for (const auto& rank : ranks) {
    if (rank.report == nullptr) continue;
    for (const auto& row : rank.report->collectives) {
      Rates& rates = all[{row.operation, row.bytes, row.ranks}];
      rates.alg.push_back(row.algbw_gb_per_s);
      rates.bus.push_back(row.busbw_gb_per_s);
      if (!row.verified && rates.verified == Outcome::pass) rates.verified = Outcome::unknown;
      if (row.verified == false) rates.verified = Outcome::fail;
    }
  }
  for (const auto& [key, rates] : all)
    fleet.collectives.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), find_upper_median(rates.alg),
                                 find_upper_median(rates.bus), rates.verified});
}

void conclude(Fleet& fleet) {
  std::map<Outcome, std::vector<const FleetNode*>> by_outcome;
  for (const auto& node : fleet.nodes) by_outcome[node.outcome].push_back(&node);
  const auto say = [&](Outcome outcome, const char* verb) {
    const auto& nodes = by_outcome[outcome];
    std::vector<std::string> named;
    for (size_t i = 0; i < std::min(nodes.size(), kMostNamed); ++i) named.push_back(nodes[i]->host);
    if (nodes.size() > kMostNamed) named.push_back(fmt::format("{} more", nodes.size() - kMostNamed));
    fleet.outcome = outcome;
    fleet.reason = fmt::format("{} of {} nodes {}: {}; {}", nodes.size(), fleet.nodes.size(), verb,
                               fmt::join(named, ", "), nodes.front()->reason);
    fleet.fix = nodes.front()->fix;
  };
  if (!by_outcome[Outcome::fail].empty()) return say(Outcome::fail, "failed");
  if (!by_outcome[Outcome::unknown].empty()) return say(Outcome::unknown, "gave no answer");
  if (!fleet.problems.empty()) {
    fleet.outcome = Outcome::unknown;
    fleet.reason = fleet.problems.front();
    return;
  }
  fleet.outcome = Outcome::pass;
  fleet.reason = fmt::format("{} of {} nodes pass", fleet.nodes.size(), fleet.nodes.size());
}

}  // namespace

Fleet judge_fleet(const std::vector<NodeReport>& documents, const FleetPolicy& policy,
                  std::vector<std::string> unread) {
  Fleet fleet{.pbprobe_version = std::string(version()),
              .false_alarm_rate = policy.false_alarm_rate,
              .problems = std::move(unread)};
  JudgedRanks ranks = collect_ranks(documents);
  number(ranks);
  for (auto& rank : ranks) judge_own_results(rank);
  judge_differences(fleet, ranks);
  judge_clocks(fleet, ranks);
  judge_digests(ranks);
  find_crowded_ranks(ranks);
  judge_figures(fleet, ranks, policy);
  judge_lateness(ranks, policy);
  judge_links(fleet, ranks, policy);
  judge_against_baseline(fleet, ranks, policy);
  add_collectives(fleet, ranks);
  add_missing_ranks(fleet, ranks, documents);
  add_what_others_saw(ranks);
  add_missing_hosts(ranks, policy);
  add_nodes(fleet, ranks);
  conclude(fleet);
  return fleet;
}

}  // namespace pbprobe
