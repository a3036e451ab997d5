// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The gate: a verdict that fails closed. It passes only where every check that the policy requires was made and passed,
// and every claim is proved up to the level that it requires; whatever stands against it is named.
#pragma once

#include <optional>
#include <string>

#include "core/facts/report.hpp"

namespace pbprobe {

struct GateTerms {
  Policy policy;
  std::optional<Level> require;  // of SMs and ISAs, in place of the policy's level
  std::string date;              // today, as waivers write it: "2026-11-22"
};

// The levels that these terms require of what is claimed; null: nothing of the kind is claimed.
[[nodiscard]] Level highest_level(const GateTerms& terms, const Claim& claim);

// A verdict or gate that the report already has is ignored.
[[nodiscard]] Gate pass_gate(const Report& facts, const GateTerms& terms);

}  // namespace pbprobe
