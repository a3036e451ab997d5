// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Decision of a verdict without its wording. Evidence is compared by its decision, so that better sentences and new
// checks leave it valid.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/facts/json.hpp"
#include "core/facts/verdict.hpp"
#include "core/result.hpp"
#include "probes/judge/judge.hpp"

namespace pbprobe {

// Returns the checks, claims, findings and objections with policy, waivers and date, but without sentences, questions
// and remedies.
[[nodiscard]] Json make_decision(const Verdict& verdict);

// Returns the place of the first difference ("findings[2].severity"); nullopt if the decisions are equal.
[[nodiscard]] std::optional<std::string> first_difference(const Verdict& one, const Verdict& other);

// Returns the terms of a gate's verdict: policy, date, and the checks of its catalogue.
[[nodiscard]] Terms get_terms(const Verdict& verdict);

struct Rejudgment {
  Verdict verdict;                    // the recorded decision in the current wording
  std::vector<Objection> later = {};  // objections of checks that are newer than the verdict
};

// Judges the report's facts again by the terms of its own verdict. Fails with `malformed` if the report has no verdict
// of a strict policy, or if the facts lead to another decision.
[[nodiscard]] Result<Rejudgment> judge_again(const Report& report);

// Adds the objections in `later` to `verdict`.
void add_later(const std::vector<Objection>& later, Verdict& verdict);

}  // namespace pbprobe
