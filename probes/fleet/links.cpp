// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Links between ranks: slow by the outlier rule, lossy by what was sent again, and which end is at fault.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "probes/fleet/ranks.hpp"
#include "probes/judge/evidence/outliers.hpp"

namespace pbprobe {
namespace {

// A sound network loses hardly one segment in 10,000; a connection that loses more than this crawls over distance.
constexpr double kMostResent = 0.005;
constexpr const char* kLookAtProcesses =
    "both ranks are processes of one machine: look at what else runs on its CPUs (top, numactl --hardware)";
constexpr const char* kLookAtNvlink = "look at the NVLinks of both GPUs (nvidia-smi nvlink -s, nvidia-smi topo -m)";
constexpr const char* kLookAtGpuLinks =
    "look at what connects both GPUs, PCIe or NVLink (nvidia-smi topo -m, nvidia-smi nvlink -s)";
constexpr const char* kLookAtPcie =
    "look at the PCIe links of both GPUs (nvidia-smi topo -m, LnkSta in lspci -vv): width, speed, distance";
constexpr const char* kLookAtNetwork = "look at the network ports of both nodes (ethtool -S, ibstat)";
constexpr const char* kLookAtErrors = "look at the port's error counters and its cable (ethtool -S, ip -s link)";

struct SeenLink {
  JudgedRank* from = nullptr;
  JudgedRank* to = nullptr;
  FleetLink row;
  double slower = 0;  // than the median, as a share
};

// One kind of fault of links, in the words that name it.
struct LinkFault {
  FleetFault fault = FleetFault::slow_link;
  const char* adjective = "";
  std::vector<const SeenLink*> links;
};

std::vector<SeenLink> collect_links(JudgedRanks& ranks) {
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
      all.push_back({&rank,
                     peer->second,
                     {.from = rank.row.rank,
                      .to = link.peer,
                      .gb_per_s = link.gb_per_s,
                      .latency_us = link.latency_us,
                      .resent = link.resent,
                      .within_node = rank.host == peer->second->host,
                      .outcome = outcome}});
    }
  }
  return all;
}

std::string describe_link(const SeenLink& link, FleetFault fault) {
  const std::string who = fmt::format("the link from {} to {}", describe_rank(*link.from), describe_rank(*link.to));
  if (fault == FleetFault::lossy_link)
    return fmt::format("{} loses {:.1f} % of the sent packets, which are sent again", who,
                       100 * link.row.resent.value_or(0));
  return fmt::format("{} is {:.0f} % slower than the median", who, 100 * link.slower);
}

bool runs_on_cpu(const JudgedRank& rank) {
  return !rank.row.device.empty() && get_fact(rank, "cpu") == rank.row.device;
}

// Returns where to look, by what connects the two ranks.
const char* find_fix(const SeenLink& link, FleetFault fault) {
  if (!link.row.within_node) return fault == FleetFault::lossy_link ? kLookAtErrors : kLookAtNetwork;
  if (runs_on_cpu(*link.from) || runs_on_cpu(*link.to)) return kLookAtProcesses;
  const std::string nvlink = get_fact(*link.from, "nvlink");
  return nvlink.empty() ? kLookAtGpuLinks : nvlink == "none" ? kLookAtPcie : kLookAtNvlink;
}

// Reports whether the rank is itself slow: then all its links are slower, which proves nothing about the other ends.
bool is_slow_itself(const JudgedRank& rank) {
  return std::ranges::any_of(rank.row.findings, [](const FleetFinding& finding) {
    return finding.fault == FleetFault::slow && finding.outcome == Outcome::fail;
  });
}

// Blames the end of a link that has half of its links faulty. If neither end has, both ends get Outcome::unknown.
void blame(const std::vector<SeenLink>& links, const LinkFault& fault) {
  std::map<JudgedRank*, int64_t> measured;
  std::map<JudgedRank*, int64_t> bad;
  for (const auto& link : links) {
    ++measured[link.from];
    ++measured[link.to];
  }
  for (const auto* link : fault.links) {
    ++bad[link->from];
    ++bad[link->to];
  }
  std::set<JudgedRank*> at_fault;
  int64_t most = 0;
  for (const auto& [rank, count] : bad) most = std::max(most, count);
  for (const auto& [rank, count] : bad) {
    if (2 * count >= measured[rank] && (count == most || 2 * count > measured[rank])) at_fault.insert(rank);
  }
  for (auto* rank : at_fault) {
    const auto first =
        std::ranges::find_if(fault.links, [&](const SeenLink* link) { return link->from == rank || link->to == rank; });
    add_finding(rank->row, fault.fault, Outcome::fail,
                fmt::format("{} of its {} links are {}", bad[rank], measured[rank], fault.adjective),
                find_fix(**first, fault.fault));
  }
  for (const auto* link : fault.links) {
    if (at_fault.contains(link->from) || at_fault.contains(link->to)) continue;
    for (auto* rank : {link->from, link->to})
      add_finding(rank->row, fault.fault, Outcome::unknown,
                  describe_link(*link, fault.fault) + ", and which end is at fault is not known",
                  find_fix(*link, fault.fault));
  }
}

bool is_crowded(const SeenLink& link) {
  return link.from->is_crowded || link.to->is_crowded;
}

bool is_judged(const SeenLink& link) {
  return link.row.outcome != Outcome::fail && !is_crowded(link);
}

// Called with the links inside of nodes and with those between them.
void find_slow(std::vector<SeenLink>& links, bool within, double false_alarm_rate, LinkFault& slow) {
  std::vector<double> rates;
  for (const auto& link : links) {
    if (link.row.within_node == within && is_judged(link)) rates.push_back(link.row.gb_per_s);
  }
  // The floor is what neighbours on a switch take from each other; among few, half.
  const OutlierRule rule =
      outlier_rule(rates, false, {.false_alarm_rate = false_alarm_rate, .floor = 0.1, .straggler = 0.5});
  for (auto& link : links) {
    if (link.row.within_node != within || !is_judged(link) || rates.size() < 2) continue;
    if (!is_slow(link.row.gb_per_s, rule, false, rates.size())) continue;
    link.slower = 1 - link.row.gb_per_s / rule.median;
    slow.links.push_back(&link);
  }
}

}  // namespace

void judge_links(Fleet& fleet, JudgedRanks& ranks, const FleetPolicy& policy) {
  auto links = collect_links(ranks);
  LinkFault slow{.fault = FleetFault::slow_link, .adjective = "slow"};
  LinkFault lossy{.fault = FleetFault::lossy_link, .adjective = "lossy"};
  for (const bool within : {true, false}) find_slow(links, within, policy.false_alarm_rate, slow);
  for (const auto& link : links) {
    if (!is_crowded(link) && link.row.resent.value_or(0) > kMostResent) lossy.links.push_back(&link);
  }
  std::set<const SeenLink*> faulty(slow.links.begin(), slow.links.end());
  faulty.insert(lossy.links.begin(), lossy.links.end());
  std::erase_if(slow.links,
                [](const SeenLink* link) { return is_slow_itself(*link->from) || is_slow_itself(*link->to); });
  blame(links, slow);
  blame(links, lossy);
  for (auto& link : links) {
    if (faulty.contains(&link)) link.row.outcome = Outcome::fail;
    fleet.links.push_back(link.row);
  }
}

}  // namespace pbprobe
