// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What a verdict decided, apart from how it says it: what evidence is held to. Sentences are written anew whenever the
// facts are judged, so that better words and further checks leave evidence as valid as it was.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/facts/json.hpp"
#include "core/facts/verdict.hpp"
#include "core/result.hpp"
#include "probes/judge/judge.hpp"

namespace pbprobe {

// Of each check, claim, finding and objection its id, level, outcome, severity, subject, place and operands, with
// policy, waivers and date; no sentence, question or remedy.
[[nodiscard]] Json decision_of(const Verdict& verdict);

// Where the first difference lies: "findings[2].severity". Null: the decisions are the same.
[[nodiscard]] std::optional<std::string> first_difference(const Verdict& one, const Verdict& other);

// What a verdict of a gate was judged by: its policy, its date, and the checks that there were.
[[nodiscard]] Terms terms_of(const Verdict& verdict);

struct Again {
  Verdict verdict;                    // the decision that stands there, in today's words
  std::vector<Objection> later = {};  // to what only a check since then finds in the same facts
};

// Judges the report's facts again by the terms of its own verdict. Errors: malformed where there is no verdict of a
// strict policy, or where the facts do not give its decision.
[[nodiscard]] Result<Again> judge_again(const Report& report);

// What is known now stands against the verdict as well.
void add_later(const std::vector<Objection>& later, Verdict& verdict);

}  // namespace pbprobe
