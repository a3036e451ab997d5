// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What a policy demands: how much a finding counts, which checks must have an answer, how far a claim must be proved.
#pragma once

#include <optional>
#include <string_view>

#include "probes/judge/checks.hpp"
#include "probes/judge/facts.hpp"
#include "probes/judge/judge.hpp"

namespace pbprobe {

class Demands {
 public:
  // `claim`: null where nothing is claimed.
  Demands(const Terms& terms, const Claim* claim);

  [[nodiscard]] bool strict() const { return policy_->stance == Stance::strict; }

  // The highest level that anything claimed must be proved to; null: nothing is claimed.
  [[nodiscard]] std::optional<Level> highest() const;

  // Of a row of claims, by its name.
  [[nodiscard]] Level of_row(std::string_view name) const;

  [[nodiscard]] Severity severity_of(const Check& check) const;

  // Whether there is no pass without an answer to it. `asked`: it was.
  [[nodiscard]] bool requires_answer(const Check& check, const Facts& facts, bool asked) const;

 private:
  [[nodiscard]] std::optional<Level> level_for(const Check& check) const;

  const Policy* policy_;
  std::optional<Level> sm_, isa_, torch_, cuda_, python_, blas_, files_;
};

}  // namespace pbprobe
