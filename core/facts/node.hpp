// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Report of one node, or of one rank: facts and figures without a verdict. `pbprobe merge` reads these reports.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/trace.hpp"
#include "core/fields.hpp"

namespace pbprobe {

// State of a rank's process, written by the rank or its supervisor.
enum class RankState : uint8_t {
  running,   // last state written; the rank never wrote an end
  finished,  // reported the state of every phase
  died,      // a signal or an exit code ended it
  hung,      // no answer within its limit; the job continued without it
};

enum class PhaseState : uint8_t { running, done, skipped, failed };

struct LoadedLibrary {
  std::optional<std::string> version;
  std::optional<std::string> sha256;  // hash of the loaded file; null if not computed in time
};

// Rate, or a time if `lower_is_better`.
struct RankFigure {
  double value = 0;
  bool lower_is_better = false;
  std::optional<bool> verified;  // result equals the expected one; null without a result
  std::optional<double> spread;  // standard error relative to the value: MAD of the samples / median / sqrt(number)
};

// Link from this rank to another one.
struct RankLink {
  int64_t peer = 0;
  double gb_per_s = 0;
  std::optional<double> latency_us;
  std::optional<bool> verified;
  std::optional<double> resent;  // share of TCP segments that were lost and resent; null if the link does not use TCP
};

// One size of a collective operation. Both rates are defined as in nccl-tests.
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
  std::optional<std::string> why;  // reason for skipping, or failure
};

// Result that differs from the expected one, with the data to reproduce it.
struct WrongResult {
  std::string what;  // name of the computation: "gemm_bf16"
  std::string how;   // object of comparison: "the first round", "the exact result", "other ranks", "what rank 3 sent"
  std::optional<int64_t> row;
  std::optional<int64_t> column;
  std::optional<double> expected;
  std::optional<double> got;
  std::optional<int64_t> seed;     // seed of the operands
  std::optional<int64_t> by_rank;  // rank that sent the data; null for this rank
  int64_t count = 1;               // number of wrong elements
};

struct RankReport {
  int64_t rank = 0;
  int64_t local_rank = 0;
  std::string device;               // "NVIDIA H200", or the CPU's name
  std::optional<std::string> uuid;  // UUID of the GPU; hashed with --redact
  RankState state = RankState::running;
  std::optional<std::string> state_why;
  std::map<std::string, std::string> facts;    // driver, power cap, clocks, throttle reasons, ECC, PCIe, NUMA
  std::map<std::string, RankFigure> figures;   // names end with the unit: "gemm_bf16_tflops"
  std::map<std::string, std::string> digests;  // SHA-256 of results that all ranks with this device must share
  std::vector<RankLink> links;
  std::vector<CollectiveRow> collectives;
  std::vector<double> late_ms;  // delay after the first rank, for each lockstep round
  std::vector<PhaseRow> phases;
  std::vector<WrongResult> wrong;
  std::vector<std::string> errors;               // steps that could not run, one sentence each
  std::optional<std::vector<TracePoint>> trace;  // trace of its device during the soak
};

// Rank that did not answer this rank.
struct AbsentRank {
  int64_t rank = 0;
  std::string phase;
};

struct NodeReport {
  std::optional<std::string> host;  // host name; null if redacted without a hash
  std::string created;
  std::string pbprobe_version;
  std::optional<int64_t> world;          // ranks of the job; null if this node was not part of a job
  std::optional<double> clock_offset_s;  // offset from the clock of the first rank, after all ranks joined
  std::vector<std::string> roster;       // host of each rank; "" for ranks that never joined; written only by rank 0
  std::vector<AbsentRank> absent;
  std::map<std::string, LoadedLibrary> libraries;  // keyed by name: "torch", "nccl", "libc10.so"
  std::vector<RankReport> ranks;
};

void fields(auto& visit, SameAs<LoadedLibrary> auto& library) {
  visit("version", library.version, "version; null if not known");
  visit("sha256", library.sha256, "SHA-256 of the loaded file; null if it could not be hashed in time");
}

void fields(auto& visit, SameAs<RankFigure> auto& figure) {
  visit("value", figure.value, "in the unit that ends its name");
  visit("lower_is_better", figure.lower_is_better, "a time, not a rate");
  visit("verified", figure.verified, "the result equals the expected one; null without a result");
  visit("spread", figure.spread, "standard error by the value: MAD of the samples / median / sqrt(number)");
}

void fields(auto& visit, SameAs<RankLink> auto& link) {
  visit("peer", link.peer, "the rank that received");
  visit("gb_per_s", link.gb_per_s, "10^9 bytes a second, one way");
  visit("latency_us", link.latency_us, "half of a round trip of 8 bytes, median");
  visit("verified", link.verified, "received data equals sent data");
  visit("resent", link.resent, "share of TCP segments that were lost and resent; null if the link does not use TCP");
}

void fields(auto& visit, SameAs<CollectiveRow> auto& row) {
  visit("operation", row.operation, "all_reduce, all_gather, reduce_scatter or all_to_all");
  visit("bytes", row.bytes, "the size, as nccl-tests define it");
  visit("ranks", row.ranks, "ranks that took part");
  visit("time_us", row.time_us, "median");
  visit("algbw_gb_per_s", row.algbw_gb_per_s, "bytes / time");
  visit("busbw_gb_per_s", row.busbw_gb_per_s, "algbw * 2(n-1)/n for all_reduce, * (n-1)/n for the others");
  visit("verified", row.verified, "every element has the expected value");
}

void fields(auto& visit, SameAs<PhaseRow> auto& phase) {
  visit("name", phase.name, "join, identity, local, kernels, soak, links, collectives or lockstep");
  visit("state", phase.state, "state of the phase");
  visit("seconds", phase.seconds, "duration in seconds");
  visit("why", phase.why, "reason for skipping, or failure");
}

void fields(auto& visit, SameAs<WrongResult> auto& wrong) {
  visit("what", wrong.what, "name of the computation");
  visit("how", wrong.how, "object of comparison");
  visit("row", wrong.row, "row of the first wrong element");
  visit("column", wrong.column, "column of the first wrong element");
  visit("expected", wrong.expected, "expected value of this element");
  visit("got", wrong.got, "actual value of this element");
  visit("seed", wrong.seed, "seed for torch.manual_seed, from which the operands can be generated again");
  visit("by_rank", wrong.by_rank, "rank that sent the data; null for this rank");
  visit("count", wrong.count, "number of wrong elements");
}

void fields(auto& visit, SameAs<RankReport> auto& rank) {
  visit("rank", rank.rank, "in the job");
  visit("local_rank", rank.local_rank, "on its node: the GPU's index");
  visit("device", rank.device, "name of the GPU, or of the CPU");
  visit("uuid", rank.uuid, "UUID of the GPU; hashed with --redact");
  visit("state", rank.state, "state of its process");
  visit("state_why", rank.state_why, "one sentence if it did not finish");
  visit("facts", rank.facts, "driver, power cap, clocks, throttle reasons, ECC, PCIe, NUMA, as they are reported");
  visit("figures", rank.figures, "figures by name; the name ends with the unit");
  visit("digests", rank.digests, "SHA-256 of results that equal devices must agree on");
  visit("links", rank.links, "from this rank to others");
  visit("collectives", rank.collectives, "in which this rank took part");
  visit("late_ms", rank.late_ms, "delay after the first rank, for each lockstep round");
  visit("phases", rank.phases, "in their order");
  visit("wrong", rank.wrong, "results that differ from what they must be");
  visit("errors", rank.errors, "steps that could not run, one sentence each");
  visit("trace", rank.trace, "clock, power and temperature of its device during the soak; null if not sampled");
}

void fields(auto& visit, SameAs<AbsentRank> auto& absent) {
  visit("rank", absent.rank, "rank that did not answer");
  visit("phase", absent.phase, "phase in which this rank waited for it");
}

void fields(auto& visit, SameAs<NodeReport> auto& node) {
  visit.constant("schema", "pbprobe.node/1");
  visit("host", node.host, "host name; hashed with --redact");
  visit("created", node.created, "UTC, by the node's clock");
  visit("pbprobe_version", node.pbprobe_version, "version that wrote this report");
  visit("world", node.world, "ranks of the job; null if this node was not part of a job");
  visit("clock_offset_s", node.clock_offset_s,
        "seconds by which its clock was ahead of the first rank's clock when all ranks had joined; null without other "
        "ranks");
  visit("roster", node.roster, "host of each rank, by rank; filled only in the document of rank 0");
  visit("absent", node.absent, "ranks that did not answer");
  visit("libraries", node.libraries, "libraries that the process loaded, by name");
  visit("ranks", node.ranks, "one per GPU, or one per process");
}

}  // namespace pbprobe
