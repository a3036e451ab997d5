// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What the files of the fleet's judge hand to each other.
#pragma once

#include <string>
#include <vector>

#include "probes/fleet/judge.hpp"

namespace pbprobe {

// One rank: what it wrote, in which document, and its row, which is in no node yet.
struct JudgedRank {
  const NodeReport* document = nullptr;  // null: it never came, or left nothing
  const RankReport* report = nullptr;
  std::string host;
  FleetRank row;
  bool is_crowded = false;  // shares CPUs or a GPU with other ranks: its speeds and links are not judged
};

using JudgedRanks = std::vector<JudgedRank>;

void add_finding(FleetRank& rank, FleetFault fault, Outcome outcome, std::string what, std::string fix);

// "rank 3 (node17, GPU 3)", or "node17 GPU 3" where nobody started a job.
[[nodiscard]] std::string name_of(const JudgedRank& rank);

// fleet_ranks.cpp: what a rank's own document says.
void judge_own_results(JudgedRank& rank);

// fleet_crowding.cpp: marks ranks of nodes that have fewer CPUs or GPUs than ranks. Call before speeds are judged.
void find_crowded_ranks(JudgedRanks& ranks);

// fleet_equals.cpp: versions, files and results that must be the same.
void judge_differences(Fleet& fleet, JudgedRanks& ranks);
void judge_digests(JudgedRanks& ranks);

void judge_clocks(Fleet& fleet, JudgedRanks& ranks);

// fleet_links.cpp: links by the outlier rule, and by what is lost on them.
void judge_links(Fleet& fleet, JudgedRanks& ranks, const FleetPolicy& policy);

// fleet_speeds.cpp: figures and lateness by the outlier rule; then against the baseline.
void judge_figures(Fleet& fleet, JudgedRanks& ranks, const FleetPolicy& policy);
void judge_lateness(JudgedRanks& ranks, const FleetPolicy& policy);
void judge_against_baseline(Fleet& fleet, JudgedRanks& ranks, const FleetPolicy& policy);

}  // namespace pbprobe
