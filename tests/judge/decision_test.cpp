// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests that evidence depends on decisions, not on the wording or on checks that were added later.
#include "probes/judge/evidence/decision.hpp"

#include <algorithm>

#include <gmock/gmock.h>

#include "probes/judge/checks.hpp"
#include "probes/judge/policy/policy.hpp"
#include "tests/judge/cases.hpp"

namespace pbprobe::test {
namespace {

using testing::HasSubstr;

// Returns a report that fails (`exact`) or passes, with findings, notes, and checks that were not asked.
Report judged(bool exact) {
  Report report =
      audit_report(Claim{.text = "the claim", .exact = exact, .targets = {"sm90"}, .cuda = "13.0", .torch = "2.11.0"});
  report.verdict = judge(
      report,
      {.policy = *built_in_policy("builder"), .require = std::nullopt, .date = "2026-11-22", .asked = std::nullopt});
  return report;
}

std::string refusal(const Report& report) {
  const auto again = judge_again(report);
  return again.ok() ? "" : again.error().message;
}

void reword(std::string& sentence) {
  sentence = "in other words";
}

// Replaces each sentence of the verdict, as a release with other messages would.
void reword(Verdict& verdict) {
  reword(verdict.reason);
  if (verdict.fix) reword(*verdict.fix);
  for (auto& claim : verdict.claims) reword(claim.detail);
  for (auto& check : verdict.checks) {
    reword(check.asks);
    check.why = "in other words";
  }
  for (auto& finding : verdict.findings) {
    reword(finding.what);
    reword(finding.remedy);
    std::reverse(finding.operands.begin(), finding.operands.end());
  }
  for (auto& objection : verdict.objections) {
    reword(objection.what);
    objection.remedy.reset();
  }
  if (verdict.holdings) reword(verdict.holdings->sentence);
}

// Removes the row, findings and objections of a check, as a release without the check would.
void forget(Verdict& verdict, const std::string& id) {
  const auto is_it = [&](const auto& one) { return one.id == id; };
  ASSERT_EQ(std::erase_if(verdict.checks, is_it), 1U) << id;
  std::erase_if(verdict.findings, is_it);
  std::erase_if(verdict.objections, is_it);
}

TEST(Decision, IgnoresWording) {
  for (const bool exact : {false, true}) {
    Report report = judged(exact);
    ASSERT_EQ(refusal(report), "");
    const Verdict before = *report.verdict;
    ASSERT_FALSE(before.findings.empty() && exact);
    reword(*report.verdict);
    EXPECT_EQ(refusal(report), "");
    EXPECT_EQ(judge_again(report)->verdict.reason, before.reason) << "read in today's words";
  }
}

TEST(Decision, IgnoresChecksAddedLater) {
  const Report whole = judged(false);
  size_t passed = 0;
  for (const auto& check : whole.verdict->checks) {
    if (check.state == CheckState::found) continue;
    Report report = whole;
    forget(*report.verdict, check.id);
    EXPECT_EQ(refusal(report), "") << check.id;
    EXPECT_TRUE(judge_again(report)->later.empty()) << check.id;
    ++passed;
  }
  EXPECT_GT(passed, 40U);
}

// Otherwise an attacker could remove a fault by removing its check from the report.
TEST(Decision, ReportsFaultFoundByLaterCheck) {
  Report report = judged(true);
  ASSERT_EQ(report.verdict->outcome, Outcome::fail);
  const std::string id = "PB316";
  Terms before = get_terms(*report.verdict);
  before.asked->erase(id);
  report.verdict = judge(report, before);
  ASSERT_EQ(report.verdict->outcome, Outcome::pass) << report.verdict->reason;
  ASSERT_EQ(refusal(report), "");
  Rejudgment again = *judge_again(report);
  ASSERT_FALSE(again.later.empty());
  EXPECT_EQ(again.later.front().id, id);
  EXPECT_EQ(again.verdict.outcome, Outcome::pass);
  add_later(again.later, again.verdict);
  EXPECT_EQ(again.verdict.outcome, Outcome::fail);
}

struct Change {
  const char* where;
  void (*change)(Report& report);
};

TEST(Decision, RejectsChangedDecisionOrFact) {
  const Change changes[] = {
      {"outcome", [](Report& r) { r.verdict->outcome = Outcome::pass; }},
      {"complete", [](Report& r) { r.verdict->complete = false; }},
      {"findings[0].severity", [](Report& r) { r.verdict->findings[0].severity = Severity::note; }},
      {"findings[0].where", [](Report& r) { r.verdict->findings[0].where = "torch/lib/libc10.so"; }},
      {"findings[0].id", [](Report& r) { r.verdict->findings[0].id = "PB317"; }},
      {"findings[0].level", [](Report& r) { r.verdict->findings[0].level = Level::measured; }},
      {"findings[0].subject", [](Report& r) { r.verdict->findings[0].subject = Subject::cpu; }},
      {"findings[0].operands", [](Report& r) { r.verdict->findings[0].operands[0] = "libother.so"; }},
      {"findings[0].waived", [](Report& r) { r.verdict->findings[0].waived = "known"; }},
      {"findings", [](Report& r) { r.verdict->findings.erase(r.verdict->findings.begin()); }},
      {"objections", [](Report& r) { r.verdict->objections.clear(); }},
      {"claims[0].proven", [](Report& r) { r.verdict->claims[0].proven = Level::measured; }},
      {"claims[0].required", [](Report& r) { r.verdict->claims[0].required = Level::claimed; }},
      {"checks[0].state", [](Report& r) { r.verdict->checks[0].state = CheckState::found; }},
      {"checks[0].required", [](Report& r) { r.verdict->checks[0].required = false; }},
      {"",
       [](Report& r) {
         r.verdict->date = "2020-01-01";
         r.verdict->policy.severity["PB316"] = {Severity::note, "-"};
       }},
      {"", [](Report& r) { r.inventory->torch_version = "2.9.1"; }},
      {"", [](Report& r) { r.inventory->cuda_version = "12.8"; }},
      {"", [](Report& r) { r.claim->exact = false; }},
      {"",
       [](Report& r) {
         r.inventory->files.pop_back();
         r.inventory->files.clear();
       }},
  };
  for (const auto& [where, change] : changes) {
    Report report = judged(true);
    change(report);
    EXPECT_THAT(refusal(report), HasSubstr("does not follow from its facts: ")) << where;
    EXPECT_THAT(refusal(report), HasSubstr(where));
  }
}

// The decision also rests on numbers that only the data of a sentence contains.
TEST(Decision, KeepsDataOfEachSentence) {
  Report report = judged(true);
  for (auto& file : report.inventory->files) {
    if (!file.device_code) continue;
    file.device_code->cubin["sm_87"] = 1;
    file.device_code->unit_sets["sm_87 sm_90"] = 1;
  }
  EXPECT_THAT(refusal(report), HasSubstr("operands"));
}

TEST(Decision, RejectsLenientPolicyAsEvidence) {
  Report report = judged(false);
  report.verdict = judge(report);
  EXPECT_THAT(refusal(report), HasSubstr("no verdict of a gate"));
}

}  // namespace
}  // namespace pbprobe::test
