// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Verdict: what a policy makes of facts: pass, fail or unknown, with what became of each check, and all that stands
// against a pass. Unknown is not pass.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/facts/finding.hpp"
#include "core/facts/policy.hpp"

namespace pbprobe {

// What a GPU gets from a torch: each is a different start-up and a different speed.
enum class GpuCode {
  native,      // a cubin for exactly this capability
  same_major,  // a cubin for a lower minor of the same major
  ptx,         // PTX only: compiled by the driver at load
  none,        // nothing that runs here
  unknown,     // no GPU, or no device code was read
};

// What became of a check.
enum class CheckState {
  passed,
  found,       // it has findings
  unanswered,  // it was asked, and a fact was missing
  not_asked,   // nothing claimed it, or no machine was looked at
};

// `forbidden`: what it would let through protects the integrity of everything else.
enum class WaiverState { used, expired, unused, too_broad, forbidden };

[[nodiscard]] std::span<const EnumName<CheckState>> enum_names(CheckState);
[[nodiscard]] std::span<const EnumName<WaiverState>> enum_names(WaiverState);

[[nodiscard]] std::span<const EnumName<GpuCode>> enum_names(GpuCode);

struct GpuOutcome {
  int64_t gpu = 0;  // index
  std::string name;
  std::string capability;
  GpuCode code = GpuCode::unknown;
  std::optional<std::string> best;  // the cubin that runs: "sm_120"
  std::string sentence;
};

// One claim against the five levels: pass, fail, unknown, or null where the level was not asked.
struct ClaimRow {
  std::string claim;                   // "SM", "GPU 0 NVIDIA H200 (9.0)"
  std::optional<std::string> claimed;  // null: of the machine, and claimed by nobody
  std::optional<Outcome> shipped;
  std::optional<Outcome> loaded;
  std::optional<Outcome> executed;
  std::optional<Outcome> measured;
  std::optional<Level> required;   // the level up to which the policy wants it proved; null: it wants nothing
  std::optional<Level> proven;     // the highest level up to which everything passed; null: it is not claimed
  std::optional<Outcome> outcome;  // is it proved as far as it must be?
  std::string detail;
};

// What an artifact could truly claim, from its files.
struct Holdings {
  std::string sentence;                            // "a sm_75, 80, 90 build with CUDA 13.0 for x86_64-linux …"
  std::vector<std::string> sms;                    // of most translation units of libtorch's main file: "sm_90"
  std::vector<std::string> few;                    // of a handful of them: "sm_103a"
  std::vector<std::string> ptx;                    // of most translation units: "sm_90"
  std::vector<std::string> cpu_capabilities;       // torch's CPU capabilities beside its default: "AVX2"
  std::optional<std::string> minimum_cpu;          // of libtorch's files together; null: not looked at
  std::optional<std::string> minimum_cpu_at_most;  // where nameless code leaves a range: its upper end
  std::optional<std::vector<std::string>>
      leaks;               // CPU features that only a CPU capability's copies of shared functions need
  int64_t size_bytes = 0;  // of all files that were read
};

struct CheckRow {
  std::string id;
  Subject subject = Subject::artifact;
  Level level = Level::shipped;
  Severity severity = Severity::note;  // the policy's, where it has one
  bool required = false;               // without an answer to it there is no pass
  CheckState state = CheckState::not_asked;
  std::string asks;
  std::optional<std::string> why;  // why there is no answer, or why it was not asked
};

struct WaiverUse {
  Waiver waiver;
  WaiverState state = WaiverState::unused;
};

// Why this does not pass.
struct Objection {
  std::string id;  // of the check; else "claim", "waiver", "run"
  Outcome outcome = Outcome::unknown;
  std::string what;
  std::optional<std::string> where;
  std::optional<std::string> remedy;
};

struct Verdict {
  Outcome outcome = Outcome::unknown;
  std::string reason;              // one sentence
  std::optional<std::string> fix;  // the first thing to do; null where nothing is to be done
  int64_t runs = 1;                // that it joins
  bool complete = false;           // every check that is required was made: it may be attested
  Policy policy;                   // as it was applied
  std::optional<Level> require;    // as it was asked for, in place of the policy's
  std::string date;                // on which waivers were judged: "2026-11-22"
  std::vector<GpuOutcome> gpus;
  std::vector<std::string> cpu_targets;  // ids that this host can run
  std::vector<ClaimRow> claims;
  std::vector<Objection> objections;
  std::vector<WaiverUse> waivers;
  std::vector<Finding> findings;
  std::vector<CheckRow> checks;
  std::optional<Holdings> holdings;  // null: a machine was looked at, or no artifact read
};

template <class Visitor, SameAs<GpuOutcome> T>
void fields(Visitor& visit, T& gpu) {
  visit("gpu", gpu.gpu, "index");
  visit("name", gpu.name, "of the policy or the GPU");
  visit("capability", gpu.capability, "compute capability");
  visit("code", gpu.code, "what this GPU gets from this torch");
  visit("best", gpu.best, "the cubin that runs");
  visit("sentence", gpu.sentence, "one sentence");
}

template <class Visitor, SameAs<ClaimRow> T>
void fields(Visitor& visit, T& row) {
  visit("claim", row.claim, "what is claimed");
  visit("claimed", row.claimed, "null: of the machine, and claimed by nobody");
  visit("shipped", row.shipped, "whether the build holds it");
  visit("loaded", row.loaded, "whether it was loaded here");
  visit("executed", row.executed, "whether it computed correctly here");
  visit("measured", row.measured, "whether it was timed, and is not slower");
  visit("required", row.required, "the level that must be proved; null: the policy wants nothing of it");
  visit("proven", row.proven, "the highest level up to which everything passed");
  visit("outcome", row.outcome, "is it proved as far as it must be?");
  visit("detail", row.detail, "what decided it");
}

template <class Visitor, SameAs<Holdings> T>
void fields(Visitor& visit, T& holdings) {
  visit("sentence", holdings.sentence, "one sentence");
  visit("sms", holdings.sms, "of most translation units of libtorch's main file");
  visit("few", holdings.few, "of a handful of them");
  visit("ptx", holdings.ptx, "of most translation units");
  visit("cpu_capabilities", holdings.cpu_capabilities, "torch's CPU capabilities beside its default");
  visit("minimum_cpu", holdings.minimum_cpu, "of libtorch's files together; null: not looked at");
  visit("minimum_cpu_at_most", holdings.minimum_cpu_at_most, "where nameless code leaves a range: its upper end");
  visit("leaks", holdings.leaks, "CPU features beyond it that only a CPU capability's copies of shared functions need");
  visit("size_bytes", holdings.size_bytes, "of all files that were read");
}

template <class Visitor, SameAs<CheckRow> T>
void fields(Visitor& visit, T& check) {
  visit("id", check.id, "the check's");
  visit("subject", check.subject, "what it is about");
  visit("level", check.level, "which level it is about");
  visit("severity", check.severity, "the policy's, where it has one");
  visit("required", check.required, "without an answer to it there is no pass");
  visit("state", check.state, "what became of it");
  visit("asks", check.asks, "its question");
  visit("why", check.why, "why there is no answer, or why it was not asked");
}

template <class Visitor, SameAs<WaiverUse> T>
void fields(Visitor& visit, T& use) {
  visit("waiver", use.waiver, "as the policy has it");
  visit("state", use.state, "what became of it");
}

template <class Visitor, SameAs<Objection> T>
void fields(Visitor& visit, T& objection) {
  visit("id", objection.id, "of the check; else claim, waiver or run");
  visit("outcome", objection.outcome, "what it comes to");
  visit("what", objection.what, "what is against it");
  visit("where", objection.where, "the file");
  visit("remedy", objection.remedy, "what to do");
}

template <class Visitor, SameAs<Verdict> T>
void fields(Visitor& visit, T& verdict) {
  visit.constant("schema", "pbprobe.verdict/1");
  visit("outcome", verdict.outcome, "unknown is not pass");
  visit("reason", verdict.reason, "one sentence");
  visit("fix", verdict.fix, "the first thing to do");
  visit("runs", verdict.runs, "that it joins");
  visit("complete", verdict.complete, "every required check was made: it may be attested");
  visit("policy", verdict.policy, "as it was applied");
  visit("require", verdict.require, "the level that was asked for in place of the policy's");
  visit("date", verdict.date, "on which waivers were judged");
  visit("gpus", verdict.gpus, "each GPU");
  visit("cpu_targets", verdict.cpu_targets, "ids that this host can run");
  visit("claims", verdict.claims, "a row for each part of the claim, and for our own kernels");
  visit("objections", verdict.objections, "why this does not pass");
  visit("waivers", verdict.waivers, "those of the policy");
  visit("findings", verdict.findings, "what is wrong, worst first");
  visit("checks", verdict.checks, "all checks, each with its outcome");
  visit("holdings", verdict.holdings, "what the artifact could truly claim");
}

}  // namespace pbprobe
