// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What one node, or one rank of it, wrote about itself: facts and figures, no verdict. `pbprobe merge` reads these.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/facts/trace.hpp"
#include "core/fields.hpp"

namespace pbprobe {

// How a rank's process ended, as it or its supervisor wrote it.
enum class RankState : uint8_t {
  running,   // the last that was written: it never wrote an end
  finished,  // every phase was run, skipped or failed, and reported so
  died,      // a signal or an exit code ended it
  hung,      // it did not answer within its limit, and was left behind
};

enum class PhaseState : uint8_t { running, done, skipped, failed };

[[nodiscard]] std::span<const EnumName<RankState>> enum_names(RankState);
[[nodiscard]] std::span<const EnumName<PhaseState>> enum_names(PhaseState);

struct LoadedLibrary {
  std::optional<std::string> version;
  std::optional<std::string> sha256;  // null: not read within the time
};

// A rate, or where lower is better a time.
struct RankFigure {
  double value = 0;
  bool lower_is_better = false;
  std::optional<bool> verified;  // the result was compared with what it must be; null: this figure has no result
  std::optional<double> spread;  // of the samples: their MAD by their median and the square root of their number
};

// From this rank to another.
struct RankLink {
  int64_t peer = 0;
  double gb_per_s = 0;
  std::optional<double> latency_us;
  std::optional<bool> verified;
  std::optional<double> resent;  // share of the TCP segments that were lost, and sent again; null: no TCP
};

// As nccl-tests define the two rates.
struct CollectiveRow {
  std::string operation;
  int64_t bytes = 0;
  int64_t ranks = 0;
  double time_us = 0;
  double algbw_gb_per_s = 0;
  double busbw_gb_per_s = 0;
  std::optional<bool> verified;
};

struct PhaseRow {
  std::string name;
  PhaseState state = PhaseState::running;
  double seconds = 0;
  std::optional<std::string> why;  // of what was skipped or failed
};

// A result that differs from what it must be, with what computes it again.
struct WrongResult {
  std::string what;  // "gemm_bf16": which computation
  std::string how;   // against what: "the first round", "the exact result", "other ranks", "what rank 3 sent"
  std::optional<int64_t> row;
  std::optional<int64_t> column;
  std::optional<double> expected;
  std::optional<double> got;
  std::optional<int64_t> seed;     // of the operands
  std::optional<int64_t> by_rank;  // whose data it was; null: this rank's own
  int64_t count = 1;               // elements
};

struct RankReport {
  int64_t rank = 0;
  int64_t local_rank = 0;
  std::string device;               // "NVIDIA H200", or the CPU's name
  std::optional<std::string> uuid;  // of the GPU; a hash under --redact
  RankState state = RankState::running;
  std::optional<std::string> state_why;
  std::map<std::string, std::string> facts;    // driver, power cap, clocks, throttle reasons, ECC, PCIe, NUMA
  std::map<std::string, RankFigure> figures;   // the unit ends the name: "gemm_bf16_tflops"
  std::map<std::string, std::string> digests;  // of results that every rank with this device must have: SHA-256
  std::vector<RankLink> links;
  std::vector<CollectiveRow> collectives;
  std::vector<double> late_ms;  // of each lockstep round: how long after the first rank this one came
  std::vector<PhaseRow> phases;
  std::vector<WrongResult> wrong;
  std::vector<std::string> errors;               // what could not run: one sentence each
  std::optional<std::vector<TracePoint>> trace;  // of its device, during the soak
};

// Somebody whom this rank waited for.
struct AbsentRank {
  int64_t rank = 0;
  std::string phase;
};

struct NodeReport {
  std::optional<std::string> host;  // null: redacted, and nothing to tell nodes by
  std::string created;
  std::string pbprobe_version;
  std::optional<int64_t> world;          // ranks of the job; null: this node wrote by itself
  std::optional<double> clock_offset_s;  // of the node's clock, from that of the rank that first met the others
  std::vector<std::string> roster;  // host of each rank that came, by rank; "" of those that did not; rank 0's only
  std::vector<AbsentRank> absent;
  std::map<std::string, LoadedLibrary> libraries;  // by name: "torch", "nccl", "libc10.so"
  std::vector<RankReport> ranks;
};

template <class Visitor, SameAs<LoadedLibrary> T>
void fields(Visitor& visit, T& library) {
  visit("version", library.version, "null: not known");
  visit("sha256", library.sha256, "of the file that was loaded; null: not read within the time");
}

template <class Visitor, SameAs<RankFigure> T>
void fields(Visitor& visit, T& figure) {
  visit("value", figure.value, "in the unit that ends its name");
  visit("lower_is_better", figure.lower_is_better, "a time, not a rate");
  visit("verified", figure.verified, "the result is what it must be; null: there is nothing to verify");
  visit("spread", figure.spread, "standard error by the value: MAD of the samples / median / sqrt(number)");
}

template <class Visitor, SameAs<RankLink> T>
void fields(Visitor& visit, T& link) {
  visit("peer", link.peer, "the rank that received");
  visit("gb_per_s", link.gb_per_s, "10^9 bytes a second, one way");
  visit("latency_us", link.latency_us, "half of a round trip of 8 bytes, median");
  visit("verified", link.verified, "what arrived is what was sent");
  visit("resent", link.resent, "share of the TCP segments that were lost, and sent again; null: no TCP");
}

template <class Visitor, SameAs<CollectiveRow> T>
void fields(Visitor& visit, T& row) {
  visit("operation", row.operation, "all_reduce, all_gather, reduce_scatter or all_to_all");
  visit("bytes", row.bytes, "the size, as nccl-tests define it");
  visit("ranks", row.ranks, "that took part");
  visit("time_us", row.time_us, "median");
  visit("algbw_gb_per_s", row.algbw_gb_per_s, "bytes / time");
  visit("busbw_gb_per_s", row.busbw_gb_per_s, "algbw * 2(n-1)/n for all_reduce, * (n-1)/n for the others");
  visit("verified", row.verified, "every element is what it must be");
}

template <class Visitor, SameAs<PhaseRow> T>
void fields(Visitor& visit, T& phase) {
  visit("name", phase.name, "join, identity, local, kernels, soak, links, collectives or lockstep");
  visit("state", phase.state, "what became of it");
  visit("seconds", phase.seconds, "that it took");
  visit("why", phase.why, "of what was skipped or failed");
}

template <class Visitor, SameAs<WrongResult> T>
void fields(Visitor& visit, T& wrong) {
  visit("what", wrong.what, "which computation");
  visit("how", wrong.how, "what it was compared with");
  visit("row", wrong.row, "of the first element that differs");
  visit("column", wrong.column, "of the first element that differs");
  visit("expected", wrong.expected, "its value where it is right");
  visit("got", wrong.got, "its value here");
  visit("seed", wrong.seed, "of torch.manual_seed, from which the operands are made again");
  visit("by_rank", wrong.by_rank, "whose data it was; null: this rank's own");
  visit("count", wrong.count, "elements that differ");
}

template <class Visitor, SameAs<RankReport> T>
void fields(Visitor& visit, T& rank) {
  visit("rank", rank.rank, "in the job");
  visit("local_rank", rank.local_rank, "on its node: the GPU's index");
  visit("device", rank.device, "name of the GPU, or of the CPU");
  visit("uuid", rank.uuid, "of the GPU; a hash under --redact");
  visit("state", rank.state, "how its process ended");
  visit("state_why", rank.state_why, "one sentence where it did not finish");
  visit("facts", rank.facts, "driver, power cap, clocks, throttle reasons, ECC, PCIe, NUMA, as they are reported");
  visit("figures", rank.figures, "by name, the unit last");
  visit("digests", rank.digests, "SHA-256 of results that equal devices must agree on");
  visit("links", rank.links, "from this rank to others");
  visit("collectives", rank.collectives, "in which this rank took part");
  visit("late_ms", rank.late_ms, "of each lockstep round: how long after the first rank");
  visit("phases", rank.phases, "in their order");
  visit("wrong", rank.wrong, "results that differ from what they must be");
  visit("errors", rank.errors, "what could not run, one sentence each");
  visit("trace", rank.trace, "clock, power and temperature of its device during the soak; null: not sampled");
}

template <class Visitor, SameAs<AbsentRank> T>
void fields(Visitor& visit, T& absent) {
  visit("rank", absent.rank, "who did not answer");
  visit("phase", absent.phase, "in which it was waited for");
}

template <class Visitor, SameAs<NodeReport> T>
void fields(Visitor& visit, T& node) {
  visit.constant("schema", "pbprobe.node/1");
  visit("host", node.host, "its name; a hash under --redact");
  visit("created", node.created, "by the node's clock, UTC");
  visit("pbprobe_version", node.pbprobe_version, "that wrote this");
  visit("world", node.world, "ranks of the job; null: this node wrote by itself");
  visit("clock_offset_s", node.clock_offset_s,
        "seconds by which its clock was ahead of the first rank's when all had met; null: it met nobody");
  visit("roster", node.roster, "host of each rank, by rank; empty in all documents but one");
  visit("absent", node.absent, "ranks that were waited for");
  visit("libraries", node.libraries, "that the process loaded, by name");
  visit("ranks", node.ranks, "one a GPU, or one a process");
}

}  // namespace pbprobe
