// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "probes/report/attest.hpp"
#include "probes/report/fleet.hpp"
#include "probes/report/html/writer.hpp"

namespace pbprobe {
namespace {

using html::escaped;

struct Counts {
  int64_t tests = 0;
  int64_t failures = 0;
  int64_t errors = 0;
  int64_t skipped = 0;
};

class Cases {
 public:
  void add(std::string_view group, std::string_view name, std::string_view inside = "") {
    ++counts_.tests;
    text_ += fmt::format("    <testcase classname=\"pbprobe.{}\" name=\"{}\" time=\"0\"", group, escaped(name));
    text_ += inside.empty() ? "/>\n" : fmt::format(">{}</testcase>\n", inside);
  }
  std::string failure(std::string_view message, std::string_view more = "") {
    ++counts_.failures;
    return fmt::format("<failure message=\"{}\">{}</failure>", escaped(message), escaped(more));
  }
  std::string error(std::string_view message) {
    ++counts_.errors;
    return fmt::format("<error message=\"{}\"/>", escaped(message));
  }
  std::string skipped(std::string_view why) {
    ++counts_.skipped;
    return fmt::format("<skipped message=\"{}\"/>", escaped(why));
  }
  // Follows the schema of Jenkins, which counts skipped cases only per suite.
  [[nodiscard]] std::string document(std::string_view suite, std::string_view created) const {
    const std::string counts = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"0\"", counts_.tests,
                                           counts_.failures, counts_.errors);
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{4}\" {0}>\n"
        "  <testsuite name=\"{4}\" timestamp=\"{1}\" {0} skipped=\"{2}\">\n{3}  </testsuite>\n</testsuites>\n",
        counts, escaped(created), counts_.skipped, text_, suite);
  }

 private:
  Counts counts_;
  std::string text_;
};

std::string render_case(const CheckRow& check, const Verdict& gate, Cases& cases) {
  if (check.state == CheckState::unanswered || (check.state == CheckState::not_asked && check.required)) {
    const std::string why = check.why.value_or("not answered");
    return check.required ? cases.error(why) : cases.skipped(why);
  }
  if (check.state == CheckState::not_asked) return cases.skipped(check.why.value_or("not asked"));
  std::string first;
  std::string all;
  for (const auto& finding : gate.findings) {
    if (finding.id != check.id || finding.waived || finding.severity != Severity::fail) continue;
    if (first.empty()) first = finding.what;
    all += finding.what + (finding.where ? " [" + *finding.where + "]" : "") + "; fix: " + finding.remedy + " ";
  }
  all += fmt::format("more: pbprobe explain {}", check.id);
  return first.empty() ? "" : cases.failure(first, all);
}

}  // namespace

std::string render_junit(const Report& report) {
  Cases cases;
  const Verdict& gate = *report.verdict;
  for (const auto& claim : gate.claims) {
    if (!claim.claimed || !claim.required) continue;
    const std::string what = fmt::format("{} must be {}; proven: {} {}", *claim.claimed, name_of(*claim.required),
                                         claim.proven ? name_of(*claim.proven) : "nothing", claim.detail);
    std::string inside;
    if (claim.outcome == Outcome::fail) inside = cases.failure(what, what);
    if (claim.outcome == Outcome::unknown) inside = cases.error(what);
    cases.add("claim", claim.claim + " " + *claim.claimed, inside);
  }
  for (const auto& check : gate.checks)
    cases.add("check", check.id + " " + check.asks, render_case(check, gate, cases));
  for (const auto& objection : gate.objections) {
    if (objection.id != "run" && objection.id != "waiver") continue;
    const bool failed = objection.outcome == Outcome::fail;
    cases.add(objection.id, objection.what, failed ? cases.failure(objection.what) : cases.error(objection.what));
  }
  return cases.document("pbprobe gate", report.created);
}

std::string render_junit(const Fleet& fleet) {
  Cases cases;
  for (const auto& node : fleet.nodes) {
    for (const auto& rank : node.ranks) {
      std::string all;
      for (const auto& finding : rank.findings)
        all += fmt::format("{}: {}; fix: {} ", name_of(finding.fault), finding.what, finding.fix);
      std::string inside;
      if (rank.outcome == Outcome::fail) inside = cases.failure(rank.findings.front().what, all);
      if (rank.outcome == Outcome::unknown) inside = cases.error(all);
      cases.add("fleet", fmt::format("{} rank {}", node.host, rank.rank), inside);
    }
  }
  for (const auto& problem : fleet.problems) cases.add("fleet", "document", cases.error(problem));
  return cases.document("pbprobe fleet", fleet.created);
}

}  // namespace pbprobe
