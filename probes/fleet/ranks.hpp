// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Steps of judge_fleet(), and the ranks that they share.
#pragma once

#include <string>
#include <vector>

#include "probes/fleet/judge.hpp"

namespace pbprobe {

// One rank: its report, the document of the report, and its row, which is in no node yet.
struct JudgedRank {
  const NodeReport* document = nullptr;  // document of the report; null if the rank wrote no report
  const RankReport* report = nullptr;
  std::string host;
  FleetRank row;
  bool is_crowded = false;  // shares CPUs or a GPU with other ranks: its speeds and links are not judged
};

using JudgedRanks = std::vector<JudgedRank>;

// Ranks outcomes by severity, the worst (fail) first.
[[nodiscard]] inline int rank_severity(Outcome outcome) {
  return outcome == Outcome::fail ? 0 : outcome == Outcome::unknown ? 1 : 2;
}

// Returns the upper of the middle values if their count is even, else the median. Requires values.
[[nodiscard]] double find_upper_median(std::vector<double> values);

// Returns a fact that the rank reported about its node; "" if it did not report the fact.
[[nodiscard]] std::string get_fact(const JudgedRank& rank, const std::string& name);

void add_finding(FleetRank& rank, FleetFault fault, Outcome outcome, std::string what, std::string fix);

// Returns "rank 3 (node17)", or "node17 device 3" for a document without a job.
[[nodiscard]] std::string describe_rank(const JudgedRank& rank);

// ranks.cpp: judges a rank by its own document.
void judge_own_results(JudgedRank& rank);

// crowding.cpp: marks ranks of nodes that have fewer CPUs or GPUs than ranks. Call before speeds are judged.
void find_crowded_ranks(JudgedRanks& ranks);

// equals.cpp: versions, files and results that must be the same.
void judge_differences(Fleet& fleet, JudgedRanks& ranks);
// Adds a fault to each rank whose results (SHA-256) differ from the majority of equal devices with the same torch.
void judge_digests(JudgedRanks& ranks);

// Adds a difference for each host whose clock is far from the median, and a fault to each of its ranks.
void judge_clocks(Fleet& fleet, JudgedRanks& ranks);

// links.cpp: links by the outlier rule, and by the lost segments.
void judge_links(Fleet& fleet, JudgedRanks& ranks, const FleetPolicy& policy);

// speeds.cpp: figures and lateness by the outlier rule; then against the baseline.
void judge_figures(Fleet& fleet, JudgedRanks& ranks, const FleetPolicy& policy);
// Adds a fault to each rank that enters the lockstep rounds late.
void judge_lateness(JudgedRanks& ranks, const FleetPolicy& policy);
// Adds a fault to each rank that is slower than in the earlier fleet of --baseline.
void judge_against_baseline(Fleet& fleet, JudgedRanks& ranks, const FleetPolicy& policy);

}  // namespace pbprobe
