// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Merged reports of many nodes: slow, wrong or different nodes. A fleet document can serve as a baseline.
#pragma once

#include <cstdint>
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
  FIELD(FleetFault, fault, "the kind of fault") = FleetFault::error;
  FIELD(Outcome, outcome, "fail; unknown if nothing is proved; pass for a note") = Outcome::unknown;
  FIELD(std::string, what, "observation");
  FIELD(std::string, fix, "fix");
};

struct FleetRank {
  FIELD(int64_t, rank, "in the job, or counted through the documents") = 0;
  FIELD(int64_t, local_rank, "on its node: the GPU's index") = 0;
  FIELD(std::string, device, "name of the GPU, or of the CPU");
  FIELD(std::optional<std::string>, uuid, "UUID of the GPU; hashed with --redact");
  FIELD(Outcome, outcome, "outcome of this rank") = Outcome::unknown;
  FIELD(std::vector<FleetFinding>, findings, "gravest first");
  FIELD(ByName<double>, figures, "figures by name; the name ends with the unit");
  FIELD(std::vector<double>, late_ms, "delay after the first rank, for each lockstep round");
};

struct FleetNode {
  FIELD(std::string, host, "its name");
  FIELD(Outcome, outcome, "the worst of its ranks") = Outcome::unknown;
  FIELD(std::string, reason, "one sentence");
  FIELD(std::optional<std::string>, fix, "first action; null if no action is needed");
  FIELD(bool, excluded, "listed in exclude.txt: one of its ranks failed, died, hung or never joined") = false;
  FIELD(std::vector<FleetRank>, ranks, "in the order of the local ranks");
};

// Outlier rule of one figure on one kind of device. A rank beyond `threshold` on the slow side is slow.
struct FleetRule {
  FIELD(std::string, figure, "name of the measured figure; it ends with the unit");
  FIELD(std::string, device, "figures are compared on equal devices only");
  FIELD(bool, lower_is_better, "a time, not a rate") = false;
  FIELD(int64_t, count, "ranks that have it") = 0;
  FIELD(double, median, "over those ranks") = 0;
  FIELD(double, mad, "median absolute deviation from it") = 0;
  FIELD(double, k, "from the false-alarm rate and the count; 0: too few for a rate") = 0;
  FIELD(double, threshold, "max(k * 1.4826 * mad, floor): farther on the slow side is slow") = 0;
  FIELD(int64_t, slow, "ranks beyond it") = 0;
};

struct FleetLink {
  FIELD(int64_t, from, "rank that sent") = 0;
  FIELD(int64_t, to, "rank that received") = 0;
  FIELD(double, gb_per_s, "10^9 bytes a second, one way") = 0;
  FIELD(std::optional<double>, latency_us, "half of a round trip of 8 bytes");
  FIELD(std::optional<double>, resent,
        "share of TCP segments that were lost and resent; null if the link does not use TCP");
  FIELD(bool, within_node, "both ranks are on one node") = false;
  FIELD(Outcome, outcome, "fail: slow, lossy or wrong; unknown: not verified") = Outcome::unknown;
};

// Bandwidth of one NCCL operation at one size, over all ranks of a fleet.
struct FleetCollective {
  FIELD(std::string, operation, "all_reduce, all_gather, reduce_scatter or all_to_all");
  FIELD(int64_t, bytes, "the size, as nccl-tests define it") = 0;
  FIELD(int64_t, ranks, "ranks that took part") = 0;
  FIELD(double, algbw_gb_per_s, "bytes / time, median over ranks") = 0;
  FIELD(double, busbw_gb_per_s, "algbw by nccl-tests' factor, median over ranks") = 0;
  FIELD(Outcome, verified, "pass: by every rank") = Outcome::unknown;
};

struct FleetDifference {
  FIELD(std::string, about, "which library");  // "NCCL", "libc10.so", "pbprobe"
  FIELD(std::string, sentence, "hosts with a value that differs from the majority");
  FIELD(std::string, most, "value of the majority");
  FIELD(std::vector<std::string>, hosts, "hosts with another value");
};

// Joined result of all ranks, as `pbprobe merge` writes it.
struct Fleet {
  SCHEMA("pbprobe.fleet/1");
  FIELD(std::string, created, "when the reports were merged, UTC");
  FIELD(std::string, pbprobe_version, "version that merged the reports");
  FIELD(Outcome, outcome,
        "fail if a node failed; unknown if a node is unknown; unknown is not pass") = Outcome::unknown;
  FIELD(std::string, reason, "one sentence");
  FIELD(std::optional<std::string>, fix, "first action; null if no action is needed");
  FIELD(double, false_alarm_rate, "share of sound ranks that the outlier rule calls slow") = 0;
  FIELD(std::optional<std::string>, baseline, "the fleet that this one was compared with, as it was named");
  FIELD(std::vector<FleetDifference>, differences, "versions and files that are not the same on every node");
  FIELD(std::vector<std::string>, problems, "documents that could not be read");
  FIELD(std::vector<FleetRule>, rules, "rule for each figure");
  FIELD(std::vector<FleetCollective>, collectives, "sorted by operation and size");
  FIELD(std::vector<FleetLink>, links, "between ranks");
  FIELD(std::vector<FleetNode>, nodes, "sorted by name");
};

}  // namespace pbprobe
