// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "core/facts/json.hpp"
#include "core/sha256.hpp"
#include "core/strings.hpp"
#include "probes/report/attest.hpp"

namespace pbprobe {
namespace {

Json make_object(const std::map<std::string, std::string>& entries) {
  Json object = Json::object();
  for (const auto& [key, value] : entries) object[key] = value;
  return object;
}

Json make_descriptor(const StatementSubject& subject) {
  Json descriptor{{"name", subject.name}, {"digest", make_object(subject.digest)}};
  if (!subject.annotations.empty()) descriptor["annotations"] = make_object(subject.annotations);
  return descriptor;
}

std::string compute_digest(const Json& json) {
  return compute_sha256(std::string_view(json.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

// Describes the policy with its waivers and changed severities, so that readers of the statement see what it tolerates.
Json policy_descriptor(const Verdict& gate) {
  const Json policy = to_json(gate.policy);
  Json waivers = Json::array();
  for (const auto& waiver : gate.waivers) waivers.push_back(to_json(waiver));
  Json annotations{{"waivers", std::move(waivers)}, {"severity", policy["severity"]}};
  if (gate.require) annotations["require"] = name_of(*gate.require);
  return {{"name", "policy " + gate.policy.name},
          {"digest", {{"sha256", compute_digest(policy)}}},
          {"annotations", std::move(annotations)}};
}

// Records the claim verbatim, so that a passing statement states its claim.
Json claim_descriptor(const Claim& claim) {
  Json json = to_json(claim);
  const std::string digest = compute_digest(json);
  return {{"name", "claim"}, {"digest", {{"sha256", digest}}}, {"annotations", std::move(json)}};
}

// Records the version, commit and time of the judgement, and its input: files or a document.
template <class Judged>
Json origin(const Judged& judged) {
  return {{"pbprobe", judged.version},
          {"commit", judged.commit},
          {"created", judged.created},
          {"input", name_of(judged.input)}};
}

Json make_origin(const Report& report) {
  Json annotations = origin(report);
  if (!report.joined) return annotations;
  annotations["input"] = "evidence";
  annotations["runs"] = Json::array();
  for (const auto& run : *report.joined) {
    Json one = origin(run);
    one["signedBy"] = run.signed_by ? Json(*run.signed_by) : Json(nullptr);
    annotations["runs"].push_back(std::move(one));
  }
  return annotations;
}

// Returns the highest severity among the findings of a check; null if none counts. Waived findings count as warnings.
std::optional<Severity> find_worst(const std::string& id, const Verdict& gate) {
  std::optional<Severity> worst;
  for (const auto& finding : gate.findings) {
    if (finding.id != id || finding.severity == Severity::note) continue;
    const Severity severity = finding.waived ? Severity::warn : finding.severity;
    if (!worst || severity < *worst) worst = severity;
  }
  return worst;
}

}  // namespace

std::string render_statement(const Report& report, const std::vector<StatementSubject>& subjects,
                             const std::map<std::string, std::string>& files) {
  const Verdict& gate = *report.verdict;
  Json passed = Json::array();
  Json warned = Json::array();
  Json failed = Json::array();
  for (const auto& claim : gate.claims) {
    if (!claim.claimed || !claim.required) continue;
    (claim.outcome == Outcome::pass ? passed : failed)
        .push_back(fmt::format("claim {} {}: {}", claim.claim, *claim.claimed, name_of(*claim.required)));
  }
  for (const auto& check : gate.checks) {
    if (check.state != CheckState::passed && check.state != CheckState::found) continue;
    const auto worst = find_worst(check.id, gate);
    (!worst ? passed : *worst == Severity::warn ? warned : failed).push_back(check.id);
  }
  for (const auto& objection : gate.objections) {
    if (objection.id == "waiver") failed.push_back(objection.what);
  }
  Json configuration = Json::array();
  for (const auto& [name, sha256] : files) configuration.push_back({{"name", name}, {"digest", {{"sha256", sha256}}}});
  for (auto& descriptor : configuration) {
    if (descriptor["name"] == "report.json") descriptor["annotations"] = make_origin(report);
  }
  configuration.push_back(claim_descriptor(*report.claim));
  if (!report.joined) configuration.push_back(policy_descriptor(gate));
  for (const auto& run : report.joined.value_or(std::vector<GatedRun>()))
    configuration.push_back(policy_descriptor(run.verdict));
  Json about = Json::array();
  for (const auto& subject : subjects) about.push_back(make_descriptor(subject));
  const char* result = gate.outcome != Outcome::pass ? "FAILED" : warned.empty() ? "PASSED" : "WARNED";
  const Json statement{{"_type", "https://in-toto.io/Statement/v1"},
                       {"subject", std::move(about)},
                       {"predicateType", "https://in-toto.io/attestation/test-result/v0.1"},
                       {"predicate",
                        {{"result", result},
                         {"configuration", std::move(configuration)},
                         {"passedTests", std::move(passed)},
                         {"warnedTests", std::move(warned)},
                         {"failedTests", std::move(failed)}}}};
  return dump_json(statement) + "\n";
}

std::vector<StatementSubject> list_subjects(const Report& report) {
  std::vector<StatementSubject> subjects;
  if (!report.inventory) return subjects;
  if (report.inventory->sha256) {  // a wheel: the file itself is distributed
    const std::string& path = report.inventory->artifact;
    subjects.push_back({.name = std::string(base_name(path)), .digest = {{"sha256", *report.inventory->sha256}}});
  }
  for (const auto& file : report.inventory->files) {
    if (file.sha256) subjects.push_back({.name = file.path, .digest = {{"sha256", *file.sha256}}});
  }
  return subjects;
}

}  // namespace pbprobe
