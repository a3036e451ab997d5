// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Demands of a policy: severities of findings, checks that must have an answer, levels to which claims must be proved;
// and its waivers. Each waiver excuses the findings of one check in one place, until a day. Any other waiver is an
// objection.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/verdict.hpp"
#include "probes/judge/checks.hpp"
#include "probes/judge/facts.hpp"
#include "probes/judge/judge.hpp"

namespace pbprobe {

class Demands {
 public:
  // `claim` is nullptr if nothing is claimed.
  Demands(const Terms& terms, const Claim* claim);

  [[nodiscard]] bool strict() const { return policy_->stance == Stance::strict; }

  // Returns the highest level that a part of the claim must reach; nullopt if nothing is claimed.
  [[nodiscard]] std::optional<Level> highest() const;

  // Returns the level that the claim row `name` must reach.
  [[nodiscard]] Level get_row_level(std::string_view name) const;

  // Returns the severity in the policy, if it sets one, else in the catalogue. A strict policy cannot change integrity
  // checks, which fail.
  [[nodiscard]] Severity get_severity(const Check& check) const;

  // Reports whether a pass requires an answer to `check`. `asked`: the check ran.
  [[nodiscard]] bool requires_answer(const Check& check, const Facts& facts, bool asked) const;

 private:
  [[nodiscard]] std::optional<Level> get_check_level(const Check& check) const;

  const Policy* policy_;
  std::optional<Level> sm_, isa_, torch_, cuda_, python_, blas_, files_;
};

// Marks the excused findings, and returns the state of each waiver.
[[nodiscard]] std::vector<WaiverUse> apply_waivers(const std::vector<Waiver>& waivers, const std::string& date,
                                                   std::vector<Finding>& findings);

// Returns the objection to a waiver in any state but `used`: expired, without a finding, too broad, or forbidden.
[[nodiscard]] Objection make_waiver_objection(const WaiverUse& use);

}  // namespace pbprobe
