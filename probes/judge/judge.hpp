// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The judge: facts and a policy in, one verdict out. It reads nothing and starts nothing, so that a verdict can be
// computed again from its evidence. A lenient policy is a report's, a strict one a gate's: that passes only where every
// check that it requires was made and passed, and every claim is proved up to the level that it wants.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "core/facts/report.hpp"

namespace pbprobe {

struct Terms {
  Policy policy;
  std::optional<Level> require;                // of SMs and ISAs, in place of the policy's level
  std::string date;                            // today, as waivers write it: "2026-11-22"
  std::optional<std::set<std::string>> asked;  // ids of the checks to ask; null: the whole catalogue
};

// Host, claim, inventory, measurements, baseline and problems are facts; a verdict that is already there is none. An
// inventory without a machine (no host, nothing measured, no problem of a step) is judged only by its files.
[[nodiscard]] Verdict judge(const Report& facts, const Terms& terms);

// By the built-in policy of reports, on the day that the report was made.
[[nodiscard]] Verdict judge(const Report& facts);

// The highest level that these terms require of what is claimed.
[[nodiscard]] Level highest_level(const Terms& terms, const Claim& claim);

}  // namespace pbprobe
