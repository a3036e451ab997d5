// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/evidence/decision.hpp"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "probes/judge/checks.hpp"

namespace pbprobe {
namespace {

void leave_out(Json& object, std::initializer_list<const char*> words) {
  for (const char* const key : words) object.erase(key);
}

void leave_out_of_each(Json& list, std::initializer_list<const char*> words) {
  for (auto& element : list) leave_out(element, words);
}

// Another wording may name the operands in another order.
void sort_operands(Json& findings) {
  for (auto& finding : findings) std::sort(finding["operands"].begin(), finding["operands"].end());
}

std::optional<std::string> difference(const Json& one, const Json& other, const std::string& path) {
  if (one == other) return std::nullopt;
  if (one.is_object() && other.is_object()) {
    for (const auto& [key, value] : one.items()) {
      const auto same = other.find(key);
      const std::string here = path.empty() ? key : path + "." + key;
      if (same == other.end()) return here;
      if (auto below = difference(value, *same, here)) return below;
    }
  }
  if (one.is_array() && other.is_array()) {
    for (size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
      if (auto below = difference(one[i], other[i], fmt::format("{}[{}]", path, i))) return below;
    }
  }
  return path;
}

// Returns objections of checks that are newer than the verdict. Omits their missing answers: old facts may lack what
// new checks need.
std::vector<Objection> found_later(const Report& report, const Terms& terms) {
  Terms whole = terms;
  whole.asked.reset();
  const Verdict today = judge(report, whole);
  std::vector<Objection> later;
  for (const auto& objection : today.objections) {
    const bool found =
        std::ranges::any_of(today.findings, [&](const Finding& finding) { return finding.id == objection.id; });
    if (found && !terms.asked->contains(objection.id)) later.push_back(objection);
  }
  return later;
}

}  // namespace

Json make_decision(const Verdict& verdict) {
  Json decision = to_json(verdict);
  leave_out(decision, {"reason", "fix"});
  leave_out_of_each(decision["gpus"], {"sentence"});
  leave_out_of_each(decision["claims"], {"detail"});
  leave_out_of_each(decision["objections"], {"what", "remedy"});
  leave_out_of_each(decision["findings"], {"what", "remedy"});
  leave_out_of_each(decision["checks"], {"asks", "why"});
  if (decision["holdings"].is_object()) leave_out(decision["holdings"], {"sentence"});
  sort_operands(decision["findings"]);
  return decision;
}

std::optional<std::string> first_difference(const Verdict& one, const Verdict& other) {
  return difference(make_decision(one), make_decision(other), "");
}

Terms get_terms(const Verdict& verdict) {
  Terms terms{.policy = verdict.policy, .require = verdict.require, .date = verdict.date, .asked = std::nullopt};
  terms.asked.emplace();
  for (const auto& check : verdict.checks) terms.asked->insert(check.id);
  return terms;
}

Result<Rejudgment> judge_again(const Report& report) {
  if (!report.verdict || report.verdict->policy.stance != Stance::strict)
    return make_error(ErrorCode::malformed,
                      "the report contains no verdict of a gate: `pbprobe gate --evidence` writes one");
  const Terms terms = get_terms(*report.verdict);
  Rejudgment again{.verdict = judge(report, terms)};
  if (const auto where = first_difference(*report.verdict, again.verdict))
    return make_error(ErrorCode::malformed, "the report's verdict does not follow from its facts: {} differs ({})",
                      *where, again.verdict.reason);
  again.later = found_later(report, terms);
  return again;
}

void add_later(const std::vector<Objection>& later, Verdict& verdict) {
  if (later.empty()) return;
  auto& objections = verdict.objections;
  objections.insert(objections.end(), later.begin(), later.end());
  std::ranges::stable_sort(objections, [](const Objection& a, const Objection& b) {
    return (a.outcome == Outcome::fail) > (b.outcome == Outcome::fail);
  });
  verdict.outcome = objections.front().outcome;
  verdict.reason = objections.front().what;
  verdict.fix = objections.front().remedy;
}

}  // namespace pbprobe
