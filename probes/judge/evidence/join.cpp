// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/evidence/join.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace pbprobe {
namespace {

bool is_target(const ClaimRow& row) {
  return row.claim == "SM" || row.claim == "ISA";
}

// All runs have the same claim, and so the same claimed rows.
std::vector<ClaimRow> claimed_rows(const Verdict& verdict) {
  std::vector<ClaimRow> rows = verdict.claims;
  std::erase_if(rows, [](const ClaimRow& row) { return !row.claimed; });
  return rows;
}

ClaimRow joined(const std::vector<const ClaimRow*>& rows, std::optional<Level> require) {
  ClaimRow row = *rows.front();
  Level required = Level::claimed;
  bool failed = false;
  for (const ClaimRow* other : rows) {
    required = std::max(required, other->required.value_or(Level::claimed));
    failed = failed || other->outcome == Outcome::fail;
    if (other->proven > row.proven) row = *other;  // nullopt is less than any level
  }
  row.required = require && is_target(row) ? *require : required;
  row.outcome = failed ? Outcome::fail : row.proven >= row.required ? Outcome::pass : Outcome::unknown;
  return row;
}

// Ranks check states: the state with the highest rank counts for all runs.
int rank_check_state(CheckState state) {
  switch (state) {
    case CheckState::found: return 3;
    case CheckState::passed: return 2;
    case CheckState::unanswered: return 1;
    case CheckState::not_asked: return 0;
  }
  return 0;
}

void add_checks(std::vector<CheckRow>& checks, const std::vector<CheckRow>& more) {
  for (const auto& other : more) {
    const auto same = std::ranges::find(checks, other.id, &CheckRow::id);
    if (same == checks.end()) {
      checks.push_back(other);
      continue;
    }
    const CheckRow before = *same;
    if (rank_check_state(other.state) > rank_check_state(before.state)) *same = other;
    same->required = before.required || other.required;
    same->severity = std::min(before.severity, other.severity);
  }
}

void add_findings(std::vector<Finding>& findings, const std::vector<Finding>& more) {
  for (const auto& other : more) {
    const bool known = std::ranges::any_of(findings, [&](const Finding& one) {
      return one.waived == other.waived && one.id == other.id && one.severity == other.severity &&
             one.what == other.what && one.where == other.where;
    });
    if (!known) findings.push_back(other);
  }
}

void join_claims(Verdict& all, const std::vector<Verdict>& verdicts, std::optional<Level> require) {
  std::vector<std::vector<ClaimRow>> rows;
  for (const auto& verdict : verdicts) rows.push_back(claimed_rows(verdict));
  all.claims.clear();
  for (size_t i = 0; i < rows.front().size(); ++i) {
    std::vector<const ClaimRow*> same;
    for (const auto& of_one : rows) same.push_back(&of_one.at(i));
    const ClaimRow& row = all.claims.emplace_back(joined(same, require));
    if (row.outcome == Outcome::pass) continue;
    Objection& objection = all.objections.emplace_back(Objection{.id = "claim", .outcome = *row.outcome});
    if (row.outcome == Outcome::fail) {
      objection.what = fmt::format("the claim {} {} is refuted by one of the joined runs", row.claim, *row.claimed);
      objection.remedy = "fix the problem that the refuting run found: its report has the finding";
    } else {
      objection.what = fmt::format("the claim {} {} must be {}, but the joined runs prove {}", row.claim, *row.claimed,
                                   name_of(*row.required), row.proven ? name_of(*row.proven) : "nothing");
      objection.remedy = "join the evidence of a machine that proves it";
    }
  }
}

}  // namespace

Verdict join_verdicts(const std::vector<Verdict>& verdicts, std::optional<Level> require) {
  Verdict all = verdicts.front();
  all.runs = static_cast<int64_t>(verdicts.size());
  all.require = require;
  all.gpus.clear();  // runs have different machines
  all.cpu_targets.clear();
  for (size_t i = 1; i < verdicts.size(); ++i) {
    all.objections.insert(all.objections.end(), verdicts[i].objections.begin(), verdicts[i].objections.end());
    all.waivers.insert(all.waivers.end(), verdicts[i].waivers.begin(), verdicts[i].waivers.end());
    add_findings(all.findings, verdicts[i].findings);
    add_checks(all.checks, verdicts[i].checks);
  }
  join_claims(all, verdicts, require);
  std::ranges::stable_sort(all.objections, [](const Objection& a, const Objection& b) {
    return (a.outcome == Outcome::fail) > (b.outcome == Outcome::fail);
  });
  const auto is_known = [](const Objection& objection) { return objection.outcome != Outcome::unknown; };
  all.complete = std::ranges::all_of(verdicts, &Verdict::complete) && std::ranges::all_of(all.objections, is_known);
  all.outcome = all.objections.empty() ? Outcome::pass : all.objections.front().outcome;
  all.reason = all.objections.empty() ? fmt::format("{} runs together prove what is claimed", verdicts.size())
                                      : all.objections.front().what;
  all.fix = all.objections.empty() ? std::nullopt : all.objections.front().remedy;
  return all;
}

}  // namespace pbprobe
