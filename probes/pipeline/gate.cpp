// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/gate.hpp"

#include <future>

#include "core/open_file.hpp"
#include "probes/audit/loader/inside_root.hpp"
#include "probes/audit/packages/layout.hpp"
#include "probes/judge/judge.hpp"
#include "probes/judge/policy/policy.hpp"
#include "probes/pipeline/compare.hpp"
#include "probes/pipeline/imports.hpp"
#include "probes/pipeline/pipeline.hpp"
#include "recipes/src/public_wheels.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr double kBudgetSeconds = 300;

std::string policy_name(const GateRequest& request) {
  if (!request.policy.empty()) return request.policy;
  return request.require.value_or(Level::shipped) > Level::shipped ? "hardware" : "builder";
}

AuditOptions make_audit_options(const GateRequest& request) {
  return {.host_code = HostCodeScope::libtorch,
          .digests = true,
          .records = true,
          .kernel_names = request.baseline.has_value(),
          .kernel_families = true};
}

Result<Report> facts_from_files(const GateRequest& request) {
  if (request.progress) request.progress("reading " + request.artifact.string());
  return make_audit(
      {.artifact = request.artifact, .claim = request.claim, .audit = make_audit_options(request), .judged = false});
}

Result<Report> facts_from_machine(const GateRequest& request, Level level) {
  ReportResult result = make_report(
      {.artifact = request.artifact,
       .claim = request.claim,
       .program = request.program,
       .audit = make_audit_options(request),
       .emulation = request.emulation,
       .budget_seconds = request.budget_seconds > 0 ? request.budget_seconds : kBudgetSeconds,
       .progress = request.progress,
       .judged = false,
       .kernels = level >= Level::measured ? KernelRuns::timed : KernelRuns::verified,
       .operators = request.operators
                        ? std::optional(OperatorOptions{.program = request.program, .progress = request.progress})
                        : std::nullopt});
  if (!result.could_run)
    return make_error(ErrorCode::unreadable, "{}",
                      result.report.problems.empty() ? "nothing could be judged" : result.report.problems.front());
  return std::move(result.report);
}

Result<Report> gather(const GateRequest& request, Level level) {
  auto document = load_report(request.artifact);
  if (!document) return document.error();
  if (*document) {  // the facts belong to the machine that wrote the document
    (*document)->input = InputKind::facts;
    return std::move(**document);
  }
  return level <= Level::shipped ? facts_from_files(request) : facts_from_machine(request, level);
}

// Compares with a baseline: the named one, or this machine's torch if `measured` is required. A loaded report has its
// own comparison.
Result<void> compare(const GateRequest& request, Level level, Report& report) {
  const bool facts = report.input == InputKind::facts;  // possibly from another machine
  if (facts && request.baseline && level >= Level::measured)
    return make_error(ErrorCode::usage,
                      "--baseline: {} is a report, which cannot be timed: name the build itself, or --require shipped "
                      "to compare sizes",
                      request.artifact.string());
  const bool speeds = level >= Level::measured && !request.emulation && !facts;
  if (report.baseline || !report.inventory || (!request.baseline && !speeds)) return {};
  CompareRequest beside{.baseline = request.baseline.value_or(fs::path()),
                        .speeds = speeds,
                        .program = request.program,
                        .progress = request.progress};
  if (request.budget_seconds > 0) beside.budget_seconds = request.budget_seconds;
  if (!request.baseline) {
    auto found = find_default_baseline(report);
    if (!found) return {};  // the gate reports that nothing was measured
    beside.baseline = std::move(*found);
  }
  return compare_with_baseline(report, beside);
}

void forget_names(Inventory& inventory) {
  for (auto& file : inventory.files) {
    for (auto* code : {&file.device_code, &file.self_loaded_code}) {
      if (!*code || !(*code)->census) continue;
      for (auto& [sm, census] : *(*code)->census) census.names.reset();
    }
  }
}

// Adds the reference for this version. A loaded report has its own reference.
Result<void> refer(const GateRequest& request, Report& report) {
  if (report.reference || !report.inventory) return {};
  if (request.reference) {
    PBPROBE_TRY(const std::string text, read_whole_file(*request.reference), "--reference");
    PBPROBE_TRY(const ReferenceBuilds table, parse_reference_builds(text), "--reference {}",
                request.reference->string());
    report.reference = find_reference(*report.inventory, request.claim, table);
  } else {
    report.reference = find_reference(*report.inventory, request.claim);
  }
  return {};
}

// Runs in parallel with the audit, which leaves CPU time free; never in parallel with measurements.
std::future<std::vector<EmulatedLoad>> begin_emulated_loads(const GateRequest& request, bool on_files) {
  return std::async(on_files ? std::launch::async : std::launch::deferred,
                    [&] { return load_emulated(request.artifact, request.claim, request.program); });
}

// Folder with the packages of an installed torch of this system; nullopt for other artifacts.
std::optional<fs::path> find_packages(const fs::path& artifact) {
  const auto layout = find_layout(artifact);
  if (!layout || layout->kind != "site-packages" || !layout->torch_dir) return std::nullopt;
  const fs::path packages = layout->torch_dir->parent_path();
  if (!layout->system_root.empty() || !root_above(packages).empty()) return std::nullopt;
  return packages;
}

// Runs in parallel with the audit, as the emulated loads do.
std::future<std::optional<Import>> begin_import(const GateRequest& request, bool on_files) {
  return std::async(on_files ? std::launch::async : std::launch::deferred, [&]() -> std::optional<Import> {
    const auto packages = find_packages(request.artifact);
    return packages ? try_torch(*packages, request.program) : std::nullopt;
  });
}

// Keeps an import that was tried to its end. If only files are judged, the obstacle of another is kept too.
void add_import(std::optional<Import> tried, bool on_files, Report& report) {
  if (!tried || (tried->obstacle && !on_files)) return;
  report.imports.emplace();
  report.imports->push_back(std::move(*tried));
}

}  // namespace

Result<Policy> load_policy(const std::string& name) {
  // A file in the working folder never replaces a built-in policy.
  if (name.find('/') == std::string::npos && !name.ends_with(".json")) return built_in_policy(name);
  PBPROBE_TRY(const std::string text, read_whole_file(name));
  PBPROBE_TRY(Policy policy, parse_policy(text), "{}", name);
  return policy;
}

Result<Report> make_gate(const GateRequest& request) {
  Terms terms{.require = request.require};
  PBPROBE_TRY(terms.policy, load_policy(policy_name(request)), "--policy");
  if (terms.policy.stance != Stance::strict)
    return make_error(ErrorCode::usage,
                      "--policy: \"{}\" is lenient, but a gate needs a strict policy: builder, hardware",
                      terms.policy.name);
  const Level level = highest_level(terms, request.claim);
  const bool on_files = level <= Level::shipped;
  if (request.operators && on_files)
    return make_error(ErrorCode::usage, "--operators runs torch on this machine: it needs --require executed");
  std::future<std::vector<EmulatedLoad>> loads;
  if (request.emulated_loads) loads = begin_emulated_loads(request, on_files);
  std::future<std::optional<Import>> import;
  if (request.imports && !request.emulation) import = begin_import(request, on_files);
  PBPROBE_TRY(Report report, gather(request, level));
  report.claim = request.claim;
  PBPROBE_CHECK(refer(request, report));
  if (loads.valid() && report.inventory && report.input == InputKind::artifact) {
    if (request.progress) request.progress("loading it on emulated CPUs");
    report.emulated_loads = loads.get();
  }
  if (import.valid() && report.inventory && report.input == InputKind::artifact) {
    if (request.progress) request.progress("importing torch");
    add_import(import.get(), on_files, report);
  }
  PBPROBE_CHECK(compare(request, level, report));
  if (report.inventory) forget_names(*report.inventory);
  terms.date = new_report().created.substr(0, 10);
  report.verdict = judge(report, terms);
  return report;
}

}  // namespace pbprobe
