// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/environment.hpp"

#include <algorithm>
#include <utility>

#include "core/pep440.hpp"
#include "probes/audit/environment.hpp"
#include "probes/judge/judge.hpp"
#include "probes/judge/served.hpp"
#include "probes/pipeline/pipeline.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

void take_findings(const Report& report, Distribution& row) {
  row.findings = judge(report).findings;
  if (!row.findings.empty()) row.worst = row.findings.front().severity;
}

Distribution row_of(Inventory inventory, const EnvironmentRequest& request) {
  Distribution row = distribution_of(inventory);
  if (!request.gpus.empty()) row.gpus.emplace();
  for (const Sm& gpu : request.gpus) row.gpus->push_back(served(inventory, gpu));
  Report report = new_report();
  report.inventory = std::move(inventory);
  take_findings(report, row);
  return row;
}

// torch is judged with the packages that it needs, which stand in rows of their own.
void judge_torch(const fs::path& artifact, Distribution& row) {
  Report report = new_report();
  auto inventory = audit(artifact, {.open_libraries = false});
  if (!inventory) return;  // a torch without its folder: what it lacks is known by its RECORD
  report.inventory = std::move(*inventory);
  take_findings(report, row);
}

Result<void> add_artifact(const fs::path& artifact, const EnvironmentRequest& request, Environment& environment) {
  const AuditOptions options{.kernel_names = !request.gpus.empty()};
  const bool installed = holds_packages(artifact);
  const auto each = [&](Inventory inventory) {
    const bool distribution = inventory.layout == "distribution";
    if (request.progress) request.progress("reading " + inventory.artifact);
    Distribution row = row_of(std::move(inventory), request);
    if (distribution && installed && package_name(row.name) == "torch") judge_torch(artifact, row);
    environment.distributions.push_back(std::move(row));
  };
  PBPROBE_TRY(const AuditedPackages audited, audit_packages(artifact, options, each));
  environment.without_files += audited.without_files;
  environment.problems.insert(environment.problems.end(), audited.problems.begin(), audited.problems.end());
  environment.notes.insert(environment.notes.end(), audited.notes.begin(), audited.notes.end());
  return {};
}

}  // namespace

Result<Environment> make_environment(const EnvironmentRequest& request) {
  Environment environment;
  for (const Sm& gpu : request.gpus) environment.sms.push_back(sm_name(gpu));
  for (const auto& artifact : request.artifacts) {
    environment.artifacts.push_back(artifact.string());
    const auto added = add_artifact(artifact, request, environment);
    if (added) continue;
    if (request.artifacts.size() == 1) return added.error();
    environment.problems.push_back(added.error().message);
  }
  std::stable_sort(environment.distributions.begin(), environment.distributions.end(),
                   [](const Distribution& a, const Distribution& b) { return a.name < b.name; });
  return environment;
}

}  // namespace pbprobe
