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
  FIELD(std::optional<std::string>, version, "version; null if not known");
  FIELD(std::optional<std::string>, sha256, "SHA-256 of the loaded file; null if it could not be hashed in time");
};

// Rate, or a time if `lower_is_better`.
struct RankFigure {
  FIELD(double, value, "in the unit that ends its name") = 0;
  FIELD(bool, lower_is_better, "a time, not a rate") = false;
  FIELD(std::optional<bool>, verified, "the result equals the expected one; null without a result");
  FIELD(std::optional<double>, spread, "standard error by the value: MAD of the samples / median / sqrt(number)");
};

// Link from this rank to another one.
struct RankLink {
  FIELD(int64_t, peer, "the rank that received") = 0;
  FIELD(double, gb_per_s, "10^9 bytes a second, one way") = 0;
  FIELD(std::optional<double>, latency_us, "half of a round trip of 8 bytes, median");
  FIELD(std::optional<bool>, verified, "received data equals sent data");
  FIELD(std::optional<double>, resent,
        "share of TCP segments that were lost and resent; null if the link does not use TCP");
};

// One size of a collective operation. Both rates are defined as in nccl-tests.
struct CollectiveRow {
  FIELD(std::string, operation, "all_reduce, all_gather, reduce_scatter or all_to_all");
  FIELD(int64_t, bytes, "the size, as nccl-tests define it") = 0;
  FIELD(int64_t, ranks, "ranks that took part") = 0;
  FIELD(double, time_us, "median") = 0;
  FIELD(double, algbw_gb_per_s, "bytes / time") = 0;
  FIELD(double, busbw_gb_per_s, "algbw * 2(n-1)/n for all_reduce, * (n-1)/n for the others") = 0;
  FIELD(std::optional<bool>, verified, "every element has the expected value");
};

struct PhaseRow {
  FIELD(std::string, name, "join, identity, local, kernels, soak, links, collectives or lockstep");
  FIELD(PhaseState, state, "state of the phase") = PhaseState::running;
  FIELD(double, seconds, "duration in seconds") = 0;
  FIELD(std::optional<std::string>, why, "reason for skipping, or failure");
};

// Result that differs from the expected one, with the data to reproduce it.
struct WrongResult {
  FIELD(std::string, what, "name of the computation");  // "gemm_bf16"
  FIELD(std::string, how, "object of comparison");
  FIELD(std::optional<int64_t>, row, "row of the first wrong element");
  FIELD(std::optional<int64_t>, column, "column of the first wrong element");
  FIELD(std::optional<double>, expected, "expected value of this element");
  FIELD(std::optional<double>, got, "actual value of this element");
  FIELD(std::optional<int64_t>, seed, "seed for torch.manual_seed, from which the operands can be generated again");
  FIELD(std::optional<int64_t>, by_rank, "rank that sent the data; null for this rank");
  FIELD(int64_t, count, "number of wrong elements") = 1;
};

// Measurements and errors of one rank, as the document of its node holds them.
struct RankReport {
  FIELD(int64_t, rank, "in the job") = 0;
  FIELD(int64_t, local_rank, "on its node: the GPU's index") = 0;
  FIELD(std::string, device, "name of the GPU, or of the CPU");  // "NVIDIA H200"
  FIELD(std::optional<std::string>, uuid, "UUID of the GPU; hashed with --redact");
  FIELD(RankState, state, "state of its process") = RankState::running;
  FIELD(std::optional<std::string>, state_why, "one sentence if it did not finish");
  FIELD(ByName<std::string>, facts,
        "driver, power cap, clocks, throttle reasons, ECC, PCIe, NUMA, as they are reported");
  FIELD(ByName<RankFigure>, figures, "figures by name; the name ends with the unit");
  FIELD(ByName<std::string>, digests, "SHA-256 of results that equal devices must agree on");
  FIELD(std::vector<RankLink>, links, "from this rank to others");
  FIELD(std::vector<CollectiveRow>, collectives, "in which this rank took part");
  FIELD(std::vector<double>, late_ms, "delay after the first rank, for each lockstep round");
  FIELD(std::vector<PhaseRow>, phases, "in their order");
  FIELD(std::vector<WrongResult>, wrong, "results that differ from what they must be");
  FIELD(std::vector<std::string>, errors, "steps that could not run, one sentence each");
  FIELD(std::optional<std::vector<TracePoint>>, trace,
        "clock, power and temperature of its device during the soak; null if not sampled");
};

// Rank that did not answer this rank.
struct AbsentRank {
  FIELD(int64_t, rank, "rank that did not answer") = 0;
  FIELD(std::string, phase, "phase in which this rank waited for it");
};

// Document of one node or rank (python -m pbprobe.fleet); `pbprobe merge` joins the documents to a Fleet.
struct NodeReport {
  SCHEMA("pbprobe.node/1");
  // host name; null if redacted without a hash
  FIELD(std::optional<std::string>, host, "host name; hashed with --redact");
  FIELD(std::string, created, "UTC, by the node's clock");
  FIELD(std::string, pbprobe_version, "version that wrote this report");
  FIELD(std::optional<int64_t>, world, "ranks of the job; null if this node was not part of a job");
  FIELD(std::optional<double>, clock_offset_s,
        "seconds by which its clock was ahead of the first rank's clock when all ranks had joined; null without other "
        "ranks");
  FIELD(std::vector<std::string>, roster, "host of each rank, by rank; filled only in the document of rank 0");
  FIELD(std::vector<AbsentRank>, absent, "ranks that did not answer");
  FIELD(ByName<LoadedLibrary>, libraries, "libraries that the process loaded, by name");
  FIELD(std::vector<RankReport>, ranks, "one per GPU, or one per process");
};

}  // namespace pbprobe
