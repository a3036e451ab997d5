// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Merged reports of many nodes: slow, wrong or different nodes. A fleet document can serve as a baseline.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/finding.hpp"

namespace pbprobe {

enum class FleetFault : uint8_t {
  wrong,       // a result differs from the expected one
  died,        // the process ended before its report was complete
  hung,        // no answer within its limit
  missing,     // never joined, or left no report
  slow,        // an outlier on the slow side
  late,        // delays the other ranks in lockstep
  slow_link,   // between two ranks
  lossy_link,  // TCP segments on this link are lost and resent
  slower,      // slower than the baseline
  different,   // version or file differs from the majority
  error,       // a phase could not run
};

// A fault of one rank: what was observed, and its fix.
struct FleetFinding {
  FleetFault fault = FleetFault::error;
  Outcome outcome = Outcome::unknown;  // fail, or unknown; pass: only a note
  std::string what;
  std::string fix;
};

struct FleetRank {
  int64_t rank = 0;
  int64_t local_rank = 0;
  std::string device;
  std::optional<std::string> uuid;
  Outcome outcome = Outcome::unknown;
  std::vector<FleetFinding> findings;
  std::map<std::string, double> figures;
  std::vector<double> late_ms;
};

struct FleetNode {
  std::string host;
  Outcome outcome = Outcome::unknown;
  std::string reason;
  std::optional<std::string> fix;
  bool excluded = false;
  std::vector<FleetRank> ranks;
};

// Outlier rule of one figure on one kind of device. A rank beyond `threshold` on the slow side is slow.
struct FleetRule {
  std::string figure;
  std::string device;
  bool lower_is_better = false;
  int64_t count = 0;
  double median = 0;
  double mad = 0;
  double k = 0;
  double threshold = 0;  // allowed distance from the median on the slow side
  int64_t slow = 0;
};

struct FleetLink {
  int64_t from = 0;
  int64_t to = 0;
  double gb_per_s = 0;
  std::optional<double> latency_us;
  std::optional<double> resent;
  bool within_node = false;
  Outcome outcome = Outcome::unknown;
};

struct FleetCollective {
  std::string operation;
  int64_t bytes = 0;
  int64_t ranks = 0;
  double algbw_gb_per_s = 0;
  double busbw_gb_per_s = 0;
  Outcome verified = Outcome::unknown;
};

struct FleetDifference {
  std::string about;               // "NCCL", "libc10.so", "pbprobe"
  std::string sentence;            // "node 17: NCCL 2.27.3; 31 others 2.28.9"
  std::string most;                // value of the majority
  std::vector<std::string> hosts;  // hosts with another value
};

struct Fleet {
  std::string created;
  std::string pbprobe_version;
  Outcome outcome = Outcome::unknown;
  std::string reason;
  std::optional<std::string> fix;
  double false_alarm_rate = 0;
  std::optional<std::string> baseline;  // name as given by the user
  std::vector<FleetDifference> differences;
  std::vector<std::string> problems;  // documents that could not be read
  std::vector<FleetRule> rules;
  std::vector<FleetCollective> collectives;
  std::vector<FleetLink> links;
  std::vector<FleetNode> nodes;
};

void fields(auto& visit, SameAs<FleetFinding> auto& finding) {
  visit("fault", finding.fault, "the kind of fault");
  visit("outcome", finding.outcome, "fail; unknown if nothing is proved; pass for a note");
  visit("what", finding.what, "observation");
  visit("fix", finding.fix, "fix");
}

void fields(auto& visit, SameAs<FleetRank> auto& rank) {
  visit("rank", rank.rank, "in the job, or counted through the documents");
  visit("local_rank", rank.local_rank, "on its node: the GPU's index");
  visit("device", rank.device, "name of the GPU, or of the CPU");
  visit("uuid", rank.uuid, "UUID of the GPU; hashed with --redact");
  visit("outcome", rank.outcome, "outcome of this rank");
  visit("findings", rank.findings, "gravest first");
  visit("figures", rank.figures, "figures by name; the name ends with the unit");
  visit("late_ms", rank.late_ms, "delay after the first rank, for each lockstep round");
}

void fields(auto& visit, SameAs<FleetNode> auto& node) {
  visit("host", node.host, "its name");
  visit("outcome", node.outcome, "the worst of its ranks");
  visit("reason", node.reason, "one sentence");
  visit("fix", node.fix, "first action; null if no action is needed");
  visit("excluded", node.excluded, "listed in exclude.txt: one of its ranks failed, died, hung or never joined");
  visit("ranks", node.ranks, "in the order of the local ranks");
}

void fields(auto& visit, SameAs<FleetRule> auto& rule) {
  visit("figure", rule.figure, "name of the measured figure; it ends with the unit");
  visit("device", rule.device, "figures are compared on equal devices only");
  visit("lower_is_better", rule.lower_is_better, "a time, not a rate");
  visit("count", rule.count, "ranks that have it");
  visit("median", rule.median, "over those ranks");
  visit("mad", rule.mad, "median absolute deviation from it");
  visit("k", rule.k, "from the false-alarm rate and the count; 0: too few for a rate");
  visit("threshold", rule.threshold, "max(k * 1.4826 * mad, floor): farther on the slow side is slow");
  visit("slow", rule.slow, "ranks beyond it");
}

void fields(auto& visit, SameAs<FleetLink> auto& link) {
  visit("from", link.from, "rank that sent");
  visit("to", link.to, "rank that received");
  visit("gb_per_s", link.gb_per_s, "10^9 bytes a second, one way");
  visit("latency_us", link.latency_us, "half of a round trip of 8 bytes");
  visit("resent", link.resent, "share of TCP segments that were lost and resent; null if the link does not use TCP");
  visit("within_node", link.within_node, "both ranks are on one node");
  visit("outcome", link.outcome, "fail: slow, lossy or wrong; unknown: not verified");
}

void fields(auto& visit, SameAs<FleetCollective> auto& row) {
  visit("operation", row.operation, "all_reduce, all_gather, reduce_scatter or all_to_all");
  visit("bytes", row.bytes, "the size, as nccl-tests define it");
  visit("ranks", row.ranks, "ranks that took part");
  visit("algbw_gb_per_s", row.algbw_gb_per_s, "bytes / time, median over ranks");
  visit("busbw_gb_per_s", row.busbw_gb_per_s, "algbw by nccl-tests' factor, median over ranks");
  visit("verified", row.verified, "pass: by every rank");
}

void fields(auto& visit, SameAs<FleetDifference> auto& difference) {
  visit("about", difference.about, "which library");
  visit("sentence", difference.sentence, "hosts with a value that differs from the majority");
  visit("most", difference.most, "value of the majority");
  visit("hosts", difference.hosts, "hosts with another value");
}

void fields(auto& visit, SameAs<Fleet> auto& fleet) {
  visit.constant("schema", "pbprobe.fleet/1");
  visit("created", fleet.created, "when the reports were merged, UTC");
  visit("pbprobe_version", fleet.pbprobe_version, "version that merged the reports");
  visit("outcome", fleet.outcome, "fail if a node failed; unknown if a node is unknown; unknown is not pass");
  visit("reason", fleet.reason, "one sentence");
  visit("fix", fleet.fix, "first action; null if no action is needed");
  visit("false_alarm_rate", fleet.false_alarm_rate, "share of sound ranks that the outlier rule calls slow");
  visit("baseline", fleet.baseline, "the fleet that this one was compared with, as it was named");
  visit("differences", fleet.differences, "versions and files that are not the same on every node");
  visit("problems", fleet.problems, "documents that could not be read");
  visit("rules", fleet.rules, "rule for each figure");
  visit("collectives", fleet.collectives, "sorted by operation and size");
  visit("links", fleet.links, "between ranks");
  visit("nodes", fleet.nodes, "sorted by name");
}

}  // namespace pbprobe
