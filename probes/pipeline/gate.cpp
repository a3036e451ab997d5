// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/gate.hpp"

#include <fstream>
#include <sstream>

#include <fmt/ranges.h>

#include "probes/judge/baseline.hpp"
#include "probes/judge/gate.hpp"
#include "probes/judge/judge.hpp"
#include "probes/judge/policy.hpp"
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
                     .audit = {.full = request.full, .digests = request.digests}});
}

Result<Report> facts_from_machine(const GateRequest& request) {
  ReportResult result =
      make_report({.artifact = request.artifact,
                   .claim = request.claim,
                   .program = request.program,
                   .audit = {.host_code = HostCodeScope::all, .full = request.full, .digests = request.digests},
                   .emulation = request.emulation,
                   .budget_seconds = request.budget_seconds > 0 ? request.budget_seconds : kBudgetSeconds,
                   .progress = request.progress});
  if (!result.could_run)
    return make_error(ErrorCode::unreadable, "{}",
                      result.report.problems.empty() ? "nothing could be judged" : result.report.problems.front());
  return std::move(result.report);
}

Result<Report> gather(const GateRequest& request, bool on_files) {
  auto document = load_report(request.artifact);
  if (!document) return document.error();
  if (*document) return std::move(**document);  // its facts are those of the machine that wrote it
  return on_files ? facts_from_files(request) : facts_from_machine(request);
}

}  // namespace

Result<Policy> load_policy(const std::string& name) {
  std::error_code error;
  if (!fs::exists(name, error)) return built_in_policy(name);
  std::ifstream stream(name, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) return make_error(ErrorCode::unreadable, "{} cannot be read: check its permissions", name);
  PBPROBE_TRY(Policy policy, parse_policy(std::move(text).str()), "{}", name);
  return policy;
}

Result<std::string> compare_with_baseline(const Report& report, const fs::path& baseline) {
  if (!report.inventory)
    return make_error(ErrorCode::usage,
                      "--baseline: this report has no inventory to compare: judge the artifact itself");
  PBPROBE_TRY(const Inventory generic, load_inventory(baseline), "--baseline");
  const BuildComparison comparison = compare_builds(*report.inventory, generic);
  const std::string comparable = comparison.differences.empty()
                                     ? "comparable"
                                     : fmt::format("not comparable: {}", fmt::join(comparison.differences, ", "));
  return fmt::format("beside {}: {}; {}; whether it is faster is unknown: this version does not measure it",
                     baseline.string(), comparable, comparison.size);
}

Result<Report> make_gate(const GateRequest& request) {
  GateTerms terms{.require = request.require};
  PBPROBE_TRY(terms.policy, load_policy(policy_name(request)), "--policy");
  const bool on_files = highest_level(terms, request.claim) <= Level::shipped;
  PBPROBE_TRY(Report report, gather(request, on_files));
  report.claim = request.claim;
  terms.date = new_report().created.substr(0, 10);
  report.verdict = judge(report);
  report.gate = pass_gate(report, terms);
  return report;
}

}  // namespace pbprobe
