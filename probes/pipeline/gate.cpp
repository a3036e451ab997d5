// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/gate.hpp"

#include "core/open_file.hpp"
#include "probes/judge/judge.hpp"
#include "probes/judge/policy.hpp"
#include "probes/pipeline/compare.hpp"
#include "probes/pipeline/pipeline.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr double kBudgetSeconds = 300;

std::string policy_name(const GateRequest& request) {
  if (!request.policy.empty()) return request.policy;
  return request.require.value_or(Level::shipped) > Level::shipped ? "hardware" : "builder";
}

Result<Report> facts_from_files(const GateRequest& request) {
  if (request.progress) request.progress("reading " + request.artifact.string());
  return make_audit({.artifact = request.artifact,
                     .claim = request.claim,
                     .audit = {.full = request.full, .digests = request.digests},
                     .judged = false});
}

Result<Report> facts_from_machine(const GateRequest& request) {
  ReportResult result =
      make_report({.artifact = request.artifact,
                   .claim = request.claim,
                   .program = request.program,
                   .audit = {.host_code = HostCodeScope::all, .full = request.full, .digests = request.digests},
                   .emulation = request.emulation,
                   .budget_seconds = request.budget_seconds > 0 ? request.budget_seconds : kBudgetSeconds,
                   .progress = request.progress,
                   .judged = false});
  if (!result.could_run)
    return make_error(ErrorCode::unreadable, "{}",
                      result.report.problems.empty() ? "nothing could be judged" : result.report.problems.front());
  return std::move(result.report);
}

Result<Report> gather(const GateRequest& request, bool on_files) {
  auto document = load_report(request.artifact);
  if (!document) return document.error();
  if (*document) {  // its facts are those of the machine that wrote it
    (*document)->input = InputKind::facts;
    return std::move(**document);
  }
  return on_files ? facts_from_files(request) : facts_from_machine(request);
}

// Where it must be measured and nothing is named, with the torch of this machine. A report that was read has its own.
Result<void> compare(const GateRequest& request, Level level, Report& report) {
  const bool speeds = level >= Level::measured && !request.emulation;
  if (report.baseline || !report.inventory || (!request.baseline && !speeds)) return {};
  CompareRequest beside{.baseline = request.baseline.value_or(fs::path()),
                        .speeds = speeds,
                        .program = request.program,
                        .progress = request.progress};
  if (request.budget_seconds > 0) beside.budget_seconds = request.budget_seconds;
  if (!request.baseline) {
    auto found = find_default_baseline(report);
    if (!found) return {};  // then nothing was measured, and the gate says so
    beside.baseline = std::move(*found);
  }
  PBPROBE_TRY(report.baseline, compare_with_baseline(report, beside));
  return {};
}

}  // namespace

Result<Policy> load_policy(const std::string& name) {
  // What lies in the working folder never stands in for a built-in policy.
  if (name.find('/') == std::string::npos && !name.ends_with(".json")) return built_in_policy(name);
  std::error_code error;
  if (!fs::exists(name, error)) return make_error(ErrorCode::not_found, "{}: no such file", name);
  PBPROBE_TRY(const std::string text, read_whole_file(name));
  PBPROBE_TRY(Policy policy, parse_policy(text), "{}", name);
  return policy;
}

Result<Report> make_gate(const GateRequest& request) {
  Terms terms{.require = request.require};
  PBPROBE_TRY(terms.policy, load_policy(policy_name(request)), "--policy");
  if (terms.policy.stance != Stance::strict)
    return make_error(ErrorCode::usage,
                      "--policy: \"{}\" is a lenient one, and a gate passes by strict ones alone: builder, hardware",
                      terms.policy.name);
  const bool on_files = highest_level(terms, request.claim) <= Level::shipped;
  PBPROBE_TRY(Report report, gather(request, on_files));
  report.claim = request.claim;
  PBPROBE_CHECK(compare(request, highest_level(terms, request.claim), report));
  terms.date = new_report().created.substr(0, 10);
  report.verdict = judge(report, terms);
  return report;
}

}  // namespace pbprobe
