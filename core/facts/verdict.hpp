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
  FIELD(int64_t, gpu, "index") = 0;
  FIELD(std::string, name, "name of the policy or the GPU");
  FIELD(std::string, capability, "compute capability");
  FIELD(GpuCode, code, "best code of this torch for this GPU") = GpuCode::unknown;
  FIELD(std::optional<std::string>, best, "the cubin that runs");  // "sm_120"
  FIELD(std::string, sentence, "one sentence");
};

// Outcome of one claim at each level: pass, fail, unknown, or null if the level was not tested.
struct ClaimRow {
  FIELD(std::string, claim, "claimed item");  // "SM", "GPU 0 NVIDIA H200 (9.0)"
  FIELD(std::optional<std::string>, claimed, "claimed value; null if the row is about the machine");
  FIELD(std::optional<Outcome>, shipped, "the build contains it");
  FIELD(std::optional<Outcome>, loaded, "code was loaded here");
  FIELD(std::optional<Outcome>, executed, "code computed correctly here");
  FIELD(std::optional<Outcome>, measured, "code was timed and is not slower");
  FIELD(std::optional<Level>, required, "level that the policy requires; null if the policy requires none");
  // highest level up to which everything passed; null if not claimed
  FIELD(std::optional<Level>, proven, "the highest level up to which everything passed");
  FIELD(std::optional<Outcome>, outcome, "proved up to the required level");
  FIELD(std::string, detail, "deciding fact");
};

// Claim that the files of an artifact would satisfy.
struct Holdings {
  FIELD(std::string, sentence, "one sentence");  // "a sm_75, 80, 90 build with CUDA 13.0 for x86_64-linux …"
  FIELD(std::vector<std::string>, sms, "SMs of most translation units of libtorch's main file");
  FIELD(std::vector<std::string>, few, "SMs of only a few translation units");
  FIELD(std::vector<std::string>, ptx, "PTX of most translation units");  // "sm_90"
  FIELD(std::vector<std::string>, cpu_capabilities, "torch's CPU capabilities beside its default");
  FIELD(std::optional<std::string>, minimum_cpu, "minimum CPU of libtorch's files, or of a package; null if not known");
  FIELD(std::optional<std::string>, minimum_cpu_at_most,
        "upper end of the range if code with unknown guards leaves one; \"not known\" if nothing bounds it");
  FIELD(std::optional<std::vector<std::string>>, leaks,
        "CPU features beyond it that only a CPU capability's copies of shared functions need");
  FIELD(int64_t, size_bytes, "size of all files that were read") = 0;
};

struct CheckRow {
  FIELD(std::string, id, "the check's");
  FIELD(Subject, subject, "subject of the check") = Subject::artifact;
  FIELD(Level, level, "level of truth that the check tests") = Level::shipped;
  FIELD(Severity, severity, "changed by the policy if it sets one") = Severity::note;
  FIELD(bool, required, "no pass without an answer") = false;
  FIELD(CheckState, state, "state of the check") = CheckState::not_asked;
  FIELD(std::string, asks, "question that it answers");
  FIELD(std::optional<std::string>, why, "reason for a missing answer, or for not asking");
};

struct WaiverUse {
  FIELD(Waiver, waiver, "waiver in the policy");
  FIELD(WaiverState, state, "use of the waiver") = WaiverState::unused;
};

// Reason against a pass.
struct Objection {
  FIELD(std::string, id, "id of the check; otherwise claim, waiver or run");
  FIELD(Outcome, outcome, "effect on the verdict: fail or unknown") = Outcome::unknown;
  FIELD(std::string, what, "observation");
  FIELD(std::optional<std::string>, where, "the file");
  FIELD(std::optional<std::string>, remedy, "fix");
};

struct Verdict {
  SCHEMA("pbprobe.verdict/1");
  FIELD(Outcome, outcome, "unknown is not pass") = Outcome::unknown;
  FIELD(std::string, reason, "one sentence");
  FIELD(std::optional<std::string>, fix, "first action");  // first action; null if no action is needed
  FIELD(int64_t, runs, "number of joined runs") = 1;
  FIELD(bool, complete, "all required checks have an answer, so that the verdict may be attested") = false;
  FIELD(Policy, policy, "policy as applied");
  FIELD(std::optional<Level>, require, "level from --require, which replaces the level of the policy");
  FIELD(std::string, date, "date for the validity of waivers");  // "2026-11-22"
  FIELD(std::vector<GpuOutcome>, gpus, "each GPU");
  FIELD(std::vector<std::string>, cpu_targets, "ids that this host can run");
  FIELD(std::vector<ClaimRow>, claims, "a row for each part of the claim, and for pbprobe's kernels");
  FIELD(std::vector<Objection>, objections, "reasons against a pass");
  FIELD(std::vector<WaiverUse>, waivers, "waivers of the policy");
  FIELD(std::vector<Finding>, findings, "findings, worst first");
  FIELD(std::vector<CheckRow>, checks, "all checks, each with its outcome");
  // satisfied claim; null for a run on a machine, or without an artifact
  FIELD(std::optional<Holdings>, holdings, "claim that the files of the artifact would satisfy");
};

}  // namespace pbprobe
