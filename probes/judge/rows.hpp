// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Rows of a report with the five levels: claimed parts, GPUs, the CPU, and pbprobe's kernels.
#pragma once

#include <vector>

#include "probes/judge/facts.hpp"

namespace pbprobe {

// Returns all rows. `unanswered`: ids of checks that were asked and have no answer.
[[nodiscard]] std::vector<ClaimRow> claim_rows(const Facts& facts, const std::vector<Finding>& findings,
                                               const std::vector<std::string>& unanswered);

// Returns the reason of a pass, in one sentence: the devices on which libtorch computes.
[[nodiscard]] std::string what_runs(const Facts& facts);

// Returns the claim that is true of the artifact; nullopt if no artifact was read.
[[nodiscard]] std::optional<Holdings> find_holdings(const Facts& facts);

// Returns the reason of a pass that only files prove, in one sentence.
[[nodiscard]] std::string what_files_hold(const Facts& facts);

}  // namespace pbprobe
