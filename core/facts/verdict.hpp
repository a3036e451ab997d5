// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Result of applying a policy to facts: pass, fail or unknown, with the state of each check and all objections to a
// pass. Unknown is not pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/finding.hpp"
#include "core/facts/policy.hpp"

namespace pbprobe {

// Best code of a torch for one GPU. Each kind has its own start-up time and speed.
enum class GpuCode {
  native,      // a cubin for exactly this capability
  same_major,  // a cubin for a lower minor version of the same major
  ptx,         // PTX only: compiled by the driver at load
  none,        // no code that runs on this GPU
  unknown,     // no GPU, or no device code was read
};

// State of a check.
enum class CheckState {
  passed,
  found,       // has findings
  unanswered,  // a fact was missing
  not_asked,   // not claimed, or no machine was inspected
};

// `forbidden`: the waiver is rejected, because all other checks depend on the waived one.
enum class WaiverState { used, expired, unused, too_broad, forbidden };

struct GpuOutcome {
  int64_t gpu = 0;  // index
  std::string name;
  std::string capability;
  GpuCode code = GpuCode::unknown;
  std::optional<std::string> best;  // the cubin that runs: "sm_120"
  std::string sentence;
};

// Outcome of one claim at each level: pass, fail, unknown, or null if the level was not tested.
struct ClaimRow {
  std::string claim;                   // "SM", "GPU 0 NVIDIA H200 (9.0)"
  std::optional<std::string> claimed;  // claimed value; null if the row is about the machine
  std::optional<Outcome> shipped;
  std::optional<Outcome> loaded;
  std::optional<Outcome> executed;
  std::optional<Outcome> measured;
  std::optional<Level> required;   // level that the policy requires; null if the policy requires none
  std::optional<Level> proven;     // highest level up to which everything passed; null if not claimed
  std::optional<Outcome> outcome;  // proved up to the required level?
  std::string detail;
};

// Claim that the files of an artifact would satisfy.
struct Holdings {
  std::string sentence;                            // "a sm_75, 80, 90 build with CUDA 13.0 for x86_64-linux …"
  std::vector<std::string> sms;                    // SMs of most translation units of libtorch's main file: "sm_90"
  std::vector<std::string> few;                    // SMs of only a few translation units: "sm_103a"
  std::vector<std::string> ptx;                    // PTX of most translation units: "sm_90"
  std::vector<std::string> cpu_capabilities;       // torch's CPU capabilities beside its default: "AVX2"
  std::optional<std::string> minimum_cpu;          // minimum CPU of libtorch's files; null if not inspected
  std::optional<std::string> minimum_cpu_at_most;  // upper end of the range if unnamed code leaves one
  std::optional<std::vector<std::string>>
      leaks;               // CPU features that only a CPU capability's copies of shared functions need
  int64_t size_bytes = 0;  // size of all files that were read
};

struct CheckRow {
  std::string id;
  Subject subject = Subject::artifact;
  Level level = Level::shipped;
  Severity severity = Severity::note;  // changed by the policy if it sets one
  bool required = false;               // no pass without an answer
  CheckState state = CheckState::not_asked;
  std::string asks;
  std::optional<std::string> why;  // reason for a missing answer, or for not asking
};

struct WaiverUse {
  Waiver waiver;
  WaiverState state = WaiverState::unused;
};

// Reason against a pass.
struct Objection {
  std::string id;  // id of the check; otherwise "claim", "waiver" or "run"
  Outcome outcome = Outcome::unknown;
  std::string what;
  std::optional<std::string> where;
  std::optional<std::string> remedy;
};

struct Verdict {
  Outcome outcome = Outcome::unknown;
  std::string reason;              // one sentence
  std::optional<std::string> fix;  // first action; null if no action is needed
  int64_t runs = 1;                // number of joined runs
  bool complete = false;           // all required checks have an answer, so that the verdict may be attested
  Policy policy;                   // policy as applied
  std::optional<Level> require;    // level from --require, which replaces the level of the policy
  std::string date;                // date for the validity of waivers: "2026-11-22"
  std::vector<GpuOutcome> gpus;
  std::vector<std::string> cpu_targets;  // ids that this host can run
  std::vector<ClaimRow> claims;
  std::vector<Objection> objections;
  std::vector<WaiverUse> waivers;
  std::vector<Finding> findings;
  std::vector<CheckRow> checks;
  std::optional<Holdings> holdings;  // satisfied claim; null for a run on a machine, or without an artifact
};

void fields(auto& visit, SameAs<GpuOutcome> auto& gpu) {
  visit("gpu", gpu.gpu, "index");
  visit("name", gpu.name, "name of the policy or the GPU");
  visit("capability", gpu.capability, "compute capability");
  visit("code", gpu.code, "best code of this torch for this GPU");
  visit("best", gpu.best, "the cubin that runs");
  visit("sentence", gpu.sentence, "one sentence");
}

void fields(auto& visit, SameAs<ClaimRow> auto& row) {
  visit("claim", row.claim, "claimed item");
  visit("claimed", row.claimed, "claimed value; null if the row is about the machine");
  visit("shipped", row.shipped, "the build contains it");
  visit("loaded", row.loaded, "code was loaded here");
  visit("executed", row.executed, "code computed correctly here");
  visit("measured", row.measured, "code was timed and is not slower");
  visit("required", row.required, "level that the policy requires; null if the policy requires none");
  visit("proven", row.proven, "the highest level up to which everything passed");
  visit("outcome", row.outcome, "proved up to the required level");
  visit("detail", row.detail, "deciding fact");
}

void fields(auto& visit, SameAs<Holdings> auto& holdings) {
  visit("sentence", holdings.sentence, "one sentence");
  visit("sms", holdings.sms, "SMs of most translation units of libtorch's main file");
  visit("few", holdings.few, "SMs of only a few translation units");
  visit("ptx", holdings.ptx, "PTX of most translation units");
  visit("cpu_capabilities", holdings.cpu_capabilities, "torch's CPU capabilities beside its default");
  visit("minimum_cpu", holdings.minimum_cpu, "minimum CPU of libtorch's files; null if not inspected");
  visit("minimum_cpu_at_most", holdings.minimum_cpu_at_most, "upper end of the range if unnamed code leaves one");
  visit("leaks", holdings.leaks, "CPU features beyond it that only a CPU capability's copies of shared functions need");
  visit("size_bytes", holdings.size_bytes, "size of all files that were read");
}

void fields(auto& visit, SameAs<CheckRow> auto& check) {
  visit("id", check.id, "the check's");
  visit("subject", check.subject, "subject of the check");
  visit("level", check.level, "level of truth that the check tests");
  visit("severity", check.severity, "changed by the policy if it sets one");
  visit("required", check.required, "no pass without an answer");
  visit("state", check.state, "state of the check");
  visit("asks", check.asks, "question that it answers");
  visit("why", check.why, "reason for a missing answer, or for not asking");
}

void fields(auto& visit, SameAs<WaiverUse> auto& use) {
  visit("waiver", use.waiver, "waiver in the policy");
  visit("state", use.state, "use of the waiver");
}

void fields(auto& visit, SameAs<Objection> auto& objection) {
  visit("id", objection.id, "id of the check; otherwise claim, waiver or run");
  visit("outcome", objection.outcome, "effect on the verdict: fail or unknown");
  visit("what", objection.what, "observation");
  visit("where", objection.where, "the file");
  visit("remedy", objection.remedy, "fix");
}

void fields(auto& visit, SameAs<Verdict> auto& verdict) {
  visit.constant("schema", "pbprobe.verdict/1");
  visit("outcome", verdict.outcome, "unknown is not pass");
  visit("reason", verdict.reason, "one sentence");
  visit("fix", verdict.fix, "first action");
  visit("runs", verdict.runs, "number of joined runs");
  visit("complete", verdict.complete, "all required checks have an answer, so that the verdict may be attested");
  visit("policy", verdict.policy, "policy as applied");
  visit("require", verdict.require, "level from --require, which replaces the level of the policy");
  visit("date", verdict.date, "date for the validity of waivers");
  visit("gpus", verdict.gpus, "each GPU");
  visit("cpu_targets", verdict.cpu_targets, "ids that this host can run");
  visit("claims", verdict.claims, "a row for each part of the claim, and for pbprobe's kernels");
  visit("objections", verdict.objections, "reasons against a pass");
  visit("waivers", verdict.waivers, "waivers of the policy");
  visit("findings", verdict.findings, "findings, worst first");
  visit("checks", verdict.checks, "all checks, each with its outcome");
  visit("holdings", verdict.holdings, "claim that the files of the artifact would satisfy");
}

}  // namespace pbprobe
