// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Computes a verdict from facts and a policy, without I/O, so that evidence can be judged again. Reports use a lenient
// policy, gates a strict one. A strict policy passes only if each required check passed and each claim is proved up to
// the required level.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "core/facts/report.hpp"

namespace pbprobe {

struct Terms {
  Policy policy;
  std::optional<Level> require;                // level for SMs and ISAs; replaces the policy's level
  std::string date;                            // today in the form of waivers: "2026-11-22"
  std::optional<std::set<std::string>> asked;  // ids of the checks to run; nullopt for all
};

// Judges the facts; ignores a verdict that `facts` contains. Without a host, measurements and problems of steps, judges
// only the files.
[[nodiscard]] Verdict judge(const Report& facts, const Terms& terms);

// Judges by the built-in policy "report", on the day of the report.
[[nodiscard]] Verdict judge(const Report& facts);

// Returns the highest level that these terms require for any part of the claim.
[[nodiscard]] Level highest_level(const Terms& terms, const Claim& claim);

}  // namespace pbprobe
