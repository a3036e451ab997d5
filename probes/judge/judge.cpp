// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/judge.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/check_pages.hpp"
#include "probes/judge/asking.hpp"
#include "probes/judge/policy/demands.hpp"
#include "probes/judge/policy/obstacles.hpp"
#include "probes/judge/policy/policy.hpp"
#include "probes/judge/rows.hpp"

namespace pbprobe {
namespace {

Finding make_finding(const Check& check, const Seen& seen, Severity severity) {
  return {.id = std::string(check.id),
          .subject = check.subject,
          .severity = severity,
          .level = check.level,
          .what = seen.what.text,
          .where = seen.where,
          .operands = seen.what.operands,
          .remedy = seen.remedy.value_or(std::string(check.remedy)),
          .waived = std::nullopt,
          .distribution = seen.distribution};
}

class Judge {
 public:
  Judge(const Report& report, const Terms& terms)
      : report_(report), terms_(terms), facts_(derive_facts(report)), demands_(terms, facts_.claim) {
    verdict_.policy = terms.policy;
    verdict_.require = terms.require;
    verdict_.date = terms.date;
    verdict_.gpus = facts_.gpus;
    if (facts_.host != nullptr) verdict_.cpu_targets = facts_.host->cpu.targets;
    if (facts_.files_only) verdict_.holdings = find_holdings(facts_);
  }

  Verdict run() {
    if (demands_.strict()) look_at_steps();
    if (auto claim = unjudged_claim(facts_)) object_unknown("claim", claim->what.text, claim->remedy);
    for (const auto& asked : run_checks(facts_, terms_.asked)) add_check_row(asked);
    look_at_findings();
    look_at_claims();
    decide();
    return std::move(verdict_);
  }

 private:
  void object(Objection objection) { verdict_.objections.push_back(std::move(objection)); }
  void object_unknown(std::string id, std::string what, std::optional<std::string> remedy) {
    object({.id = std::move(id),
            .outcome = Outcome::unknown,
            .what = std::move(what),
            .where = std::nullopt,
            .remedy = std::move(remedy)});
  }

  // Objects to steps that could not run: a gate does not pass without them.
  void look_at_steps() {
    const char* const again = "fix the problem that the reason names, and run pbprobe again";
    for (const auto& problem : report_.problems) object_unknown("run", problem, again);
    if (!report_.inventory)
      object_unknown("run", "no artifact was read", "name the built artifact: pbprobe gate ARTIFACT --claim …");
    if (!demands_.highest())
      object_unknown("run", "nothing is claimed",
                     "state the claim of the build: --claim NAME, or a list as `pbprobe gate --help` shows");
    if (facts_.run == nullptr || !facts_.run->problem) return;
    if (!facts_.run->obstacle) return object_unknown("run", *facts_.run->problem, again);
    const Seen why = describe_failed_run(facts_);
    object_unknown("run", why.what.text, why.remedy);
  }

  void add_check_row(const Asked& one) {
    const Check& check = *one.check;
    CheckRow row{.id = std::string(check.id),
                 .subject = check.subject,
                 .level = check.level,
                 .severity = demands_.get_severity(check),
                 .required = demands_.requires_answer(check, facts_, one.asked),
                 .asks = std::string(check_question(check.id))};
    if (!one.asked) {
      row.why = why_not_asked(check, facts_);
    } else if (one.answer.unknown) {
      row.state = CheckState::unanswered;
      row.why = one.answer.unknown->what.text;
    } else {
      row.state = one.answer.seen.empty() ? CheckState::passed : CheckState::found;
    }
    for (const auto& seen : one.answer.seen) verdict_.findings.push_back(make_finding(check, seen, row.severity));
    const bool answered = row.state == CheckState::passed || row.state == CheckState::found;
    if (row.required && !answered) object_to_silence(row, one);
    verdict_.checks.push_back(std::move(row));
  }

  // A report only states the reason; a gate also names the open question.
  void object_to_silence(const CheckRow& row, const Asked& one) {
    const std::string why = row.why.value_or("");
    const auto& unknown = one.answer.unknown;
    const bool in_part = !one.asked && facts_.single_file && needs(*one.check, Need::whole);
    const std::string remedy =
        in_part ? "give the whole package: a single file cannot answer this check" : std::string(one.check->remedy);
    object_unknown(row.id, demands_.strict() ? fmt::format("{}, which leaves open: {}", why, row.asks) : why,
                   unknown && unknown->remedy ? unknown->remedy : std::optional(remedy));
  }

  void look_at_findings() {
    const auto rank = [](const Finding& finding) {
      const Check* const check = find_check(finding.id);
      return std::pair(finding.severity, check == nullptr || !check->is_cause);
    };
    std::ranges::stable_sort(verdict_.findings, [&](const Finding& a, const Finding& b) { return rank(a) < rank(b); });
    verdict_.waivers = apply_waivers(terms_.policy.waive, terms_.date, verdict_.findings);
    for (const auto& finding : verdict_.findings) {
      if (finding.waived || finding.severity != Severity::fail) continue;
      const bool unread = demands_.strict() && finding.subject == Subject::reading;
      object({.id = finding.id,
              .outcome = unread ? Outcome::unknown : Outcome::fail,
              .what = finding.what,
              .where = finding.where,
              .remedy = finding.remedy});
    }
    for (const auto& use : verdict_.waivers) {
      if (use.state != WaiverState::used) object(make_waiver_objection(use));
    }
  }

  // Returns the claim rows without waived findings.
  std::vector<ClaimRow> rows() const {
    std::vector<Finding> findings;
    for (const auto& finding : verdict_.findings) {
      if (!finding.waived) findings.push_back(finding);
    }
    std::vector<std::string> unanswered;
    for (const auto& check : verdict_.checks) {
      const bool counts = check.required || check.severity == Severity::fail;
      if (counts && check.state == CheckState::unanswered) unanswered.push_back(check.id);
    }
    return claim_rows(facts_, findings, unanswered);
  }

  void look_at_claims() {
    verdict_.claims = rows();
    for (auto& row : verdict_.claims) {
      if (!row.claimed) continue;
      row.proven = Level::claimed;
      if (demands_.strict()) row.required = demands_.get_row_level(row.claim);
      if (row.required) row.outcome = Outcome::pass;
      const std::pair<Level, std::optional<Outcome>> levels[] = {{Level::shipped, row.shipped},
                                                                 {Level::loaded, row.loaded},
                                                                 {Level::executed, row.executed},
                                                                 {Level::measured, row.measured}};
      bool all = true;
      for (const auto& [level, outcome] : levels) {
        all = all && outcome == Outcome::pass;
        if (all) row.proven = level;
        if (!row.required || level > *row.required || outcome == Outcome::pass || row.outcome == Outcome::fail)
          continue;
        row.outcome = outcome.value_or(Outcome::unknown);
      }
      if (row.outcome && row.outcome != Outcome::pass) add_row_objection(row);
    }
  }

  void add_row_objection(const ClaimRow& row) {
    // If the files lack the claimed part, results of a run prove nothing about it.
    const bool unshipped = row.outcome == Outcome::fail && row.proven == Level::claimed;
    const std::string detail = row.detail.empty() || unshipped ? "" : ": " + row.detail;
    const char* const seen = unshipped                      ? "the files of the build do not contain it"
                             : row.outcome == Outcome::fail ? "is not"
                                                            : "that was not proved";
    object({.id = "claim",
            .outcome = *row.outcome,
            .what = fmt::format("{} {} must be {}, and {}{}", row.claim, *row.claimed, name_of(*row.required), seen,
                                detail),
            .where = std::nullopt,
            .remedy = row.outcome == Outcome::fail ? "fix the findings of the other checks"
                      : *row.required == Level::shipped
                          ? "leave it out of the claim: the files of the build cannot prove it"
                          : "run the gate on a machine that can prove it, or require less: --require shipped"});
  }

  void decide() {
    auto& objections = verdict_.objections;
    std::ranges::stable_sort(objections, [](const Objection& a, const Objection& b) {
      return (a.outcome == Outcome::fail) > (b.outcome == Outcome::fail);
    });
    verdict_.complete = std::ranges::none_of(
        objections, [](const Objection& objection) { return objection.outcome == Outcome::unknown; });
    if (!objections.empty()) {
      verdict_.outcome = objections.front().outcome;
      verdict_.reason = objections.front().what;
      verdict_.fix = objections.front().remedy;
      return;
    }
    verdict_.outcome = Outcome::pass;
    if (demands_.strict()) {
      verdict_.reason = fmt::format("{} delivers what \"{}\" claims, proved as far as the policy \"{}\" requires",
                                    facts_.torch, report_.claim->text, terms_.policy.name);
      return;
    }
    verdict_.reason = facts_.files_only ? what_files_hold(facts_) : what_runs(facts_);
    const auto& findings = verdict_.findings;
    if (!findings.empty() && findings.front().severity == Severity::warn) verdict_.fix = findings.front().remedy;
  }

  const Report& report_;
  const Terms& terms_;
  Facts facts_;
  Demands demands_;
  Verdict verdict_;
};

}  // namespace

Verdict judge(const Report& facts, const Terms& terms) {
  return Judge(facts, terms).run();
}

Verdict judge(const Report& facts) {
  static const Policy policy = *built_in_policy("report");  // embedded and read by the tests
  return judge(facts, {.policy = policy,
                       .require = std::nullopt,
                       .date = facts.created.substr(0, std::string_view("2026-11-22").size()),
                       .asked = std::nullopt});
}

Level highest_level(const Terms& terms, const Claim& claim) {
  return Demands(terms, &claim).highest().value_or(Level::shipped);
}

}  // namespace pbprobe
