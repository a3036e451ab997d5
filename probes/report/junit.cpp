// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/junit.hpp"

#include <fmt/format.h>

#include "probes/report/attest.hpp"
#include "probes/report/html/writer.hpp"

namespace pbprobe {

using html::escaped;

void JunitCases::add(std::string_view group, std::string_view name, std::string_view inside) {
  ++tests_;
  text_ += fmt::format("    <testcase classname=\"pbprobe.{}\" name=\"{}\" time=\"0\"", group, escaped(name));
  text_ += inside.empty() ? "/>\n" : fmt::format(">{}</testcase>\n", inside);
}

std::string JunitCases::failure(std::string_view message, std::string_view more) {
  ++failures_;
  return fmt::format("<failure message=\"{}\">{}</failure>", escaped(message), escaped(more));
}

std::string JunitCases::error(std::string_view message) {
  ++errors_;
  return fmt::format("<error message=\"{}\"/>", escaped(message));
}

std::string JunitCases::skipped(std::string_view why) {
  ++skipped_;
  return fmt::format("<skipped message=\"{}\"/>", escaped(why));
}

std::string JunitCases::document(std::string_view suite, std::string_view created) const {
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"0\"", tests_, failures_, errors_);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{4}\" {0}>\n"
      "  <testsuite name=\"{4}\" timestamp=\"{1}\" {0} skipped=\"{2}\">\n{3}  </testsuite>\n</testsuites>\n",
      counts, escaped(created), skipped_, text_, suite);
}

namespace {

std::string render_case(const CheckRow& check, const Verdict& gate, JunitCases& cases) {
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
  JunitCases cases;
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

}  // namespace pbprobe
