// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The five levels, a row for each thing that this torch and this machine should do together.
#pragma once

#include <vector>

#include "probes/judge/facts.hpp"

namespace pbprobe {

// `unanswered`: ids of checks that were asked and have no answer.
[[nodiscard]] std::vector<ClaimRow> claim_rows(const Facts& facts, const std::vector<Finding>& findings,
                                               const std::vector<std::string>& unanswered);

// What runs here, in one sentence: the reason of a pass.
[[nodiscard]] std::string what_runs(const Facts& facts);

// What the artifact could truly claim; null where none was read.
[[nodiscard]] std::optional<Holdings> holdings_of(const Facts& facts);

// What the files hold, in one sentence: the reason of a pass where no machine was looked at.
[[nodiscard]] std::string what_files_hold(const Facts& facts);

}  // namespace pbprobe
