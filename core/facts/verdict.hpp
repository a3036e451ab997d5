// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Verdict: pass, fail or unknown, with its findings. Unknown is not pass.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

enum class Outcome { pass, fail, unknown };
enum class Severity { fail, warn, note };

// What a GPU gets from a torch: each is a different start-up and a different speed.
enum class GpuImage {
  native,      // a cubin for exactly this capability
  same_major,  // a cubin for a lower minor of the same major
  ptx,         // PTX only: compiled by the driver at load
  none,        // nothing that runs here
  unknown,     // no GPU, or no device code was read
};

// What a check is about, and so what its answer is needed for.
enum class Subject {
  reading,   // whether files could be opened and read whole: what was not read may hide anything
  artifact,  // its files: names, versions, packages, the libraries that it finds
  closure,   // its closure in a Nix store
  cpu,       // host code, and the CPU that runs it
  gpu,       // device code, and the GPU and driver that run it
  running,   // what was started and computed
  baseline,  // another libtorch beside it
  recipe,    // a recipe's text
};

// Levels of truth about a claim, lowest first.
enum class Level { claimed, shipped, loaded, executed, measured };

[[nodiscard]] std::span<const EnumName<Outcome>> enum_names(Outcome);
[[nodiscard]] std::span<const EnumName<Severity>> enum_names(Severity);
[[nodiscard]] std::span<const EnumName<Subject>> enum_names(Subject);
[[nodiscard]] std::span<const EnumName<GpuImage>> enum_names(GpuImage);
[[nodiscard]] std::span<const EnumName<Level>> enum_names(Level);

struct Finding {
  std::string id;  // "PB301": stable, and never used again for another check
  Subject subject = Subject::artifact;
  Severity severity = Severity::note;
  Level level = Level::shipped;
  std::string what;                  // what was seen
  std::optional<std::string> where;  // file, section or symbol
  std::string remedy;
};

struct GpuOutcome {
  int64_t gpu = 0;  // index
  std::string name;
  std::string capability;
  GpuImage image = GpuImage::unknown;
  std::optional<std::string> best;  // the image that runs: "sm_120"
  std::string sentence;
};

// One claim against the five levels: pass, fail, unknown, or null where the level was not asked.
struct ClaimRow {
  std::string claim;  // "sm121: native machine code"
  std::optional<std::string> claimed;
  std::optional<Outcome> shipped;
  std::optional<Outcome> loaded;
  std::optional<Outcome> executed;
  std::optional<Outcome> measured;
  std::string detail;
};

// What an artifact could truly claim, from its files.
struct Holdings {
  std::string sentence;                           // "a sm_75, 80, 90 build with CUDA 13.0 for x86_64-linux …"
  std::vector<std::string> sms;                   // of most translation units of libtorch's main file: "sm_90"
  std::vector<std::string> few;                   // of a handful of them: "sm_103a"
  std::vector<std::string> ptx;                   // of most translation units: "sm_90"
  std::vector<std::string> tiers;                 // torch's CPU tiers beside its default: "AVX2"
  std::optional<std::string> least_cpu;           // of libtorch's files together; null: not looked at
  std::optional<std::string> least_cpu_most;      // where nameless code leaves a range: its upper end
  std::optional<std::vector<std::string>> leaks;  // CPU features that only a tier's copies of shared functions need
  int64_t size_bytes = 0;                         // of all files that were read
};

struct Verdict {
  Outcome outcome = Outcome::unknown;
  std::string reason;              // one sentence
  std::optional<std::string> fix;  // the first thing to do; null where nothing is to be done
  std::vector<GpuOutcome> gpus;
  std::vector<std::string> cpu_targets;  // ids that this host can run
  std::vector<ClaimRow> claims;
  std::vector<Finding> findings;
  std::optional<Holdings> holdings;  // null: a machine was looked at, or no artifact read
};

template <class Visitor, SameAs<Finding> T>
void fields(Visitor& visit, T& finding) {
  visit("id", finding.id, "stable identifier of the check");
  visit("subject", finding.subject, "what the check is about");
  visit("severity", finding.severity);
  visit("level", finding.level);
  visit("what", finding.what, "what was seen");
  visit("where", finding.where, "file, section or symbol");
  visit("remedy", finding.remedy);
}

template <class Visitor, SameAs<GpuOutcome> T>
void fields(Visitor& visit, T& gpu) {
  visit("gpu", gpu.gpu, "index");
  visit("name", gpu.name);
  visit("capability", gpu.capability);
  visit("image", gpu.image, "what this GPU gets from this torch");
  visit("best", gpu.best, "the image that runs");
  visit("sentence", gpu.sentence);
}

template <class Visitor, SameAs<ClaimRow> T>
void fields(Visitor& visit, T& row) {
  visit("claim", row.claim);
  visit("claimed", row.claimed);
  visit("shipped", row.shipped);
  visit("loaded", row.loaded);
  visit("executed", row.executed);
  visit("measured", row.measured);
  visit("detail", row.detail);
}

template <class Visitor, SameAs<Holdings> T>
void fields(Visitor& visit, T& holdings) {
  visit("sentence", holdings.sentence);
  visit("sms", holdings.sms, "of most translation units of libtorch's main file");
  visit("few", holdings.few, "of a handful of them");
  visit("ptx", holdings.ptx, "of most translation units");
  visit("tiers", holdings.tiers, "torch's CPU tiers beside its default");
  visit("least_cpu", holdings.least_cpu, "of libtorch's files together; null: not looked at");
  visit("least_cpu_most", holdings.least_cpu_most, "where nameless code leaves a range: its upper end");
  visit("leaks", holdings.leaks, "CPU features beyond it that only a tier's copies of shared functions need");
  visit("size_bytes", holdings.size_bytes, "of all files that were read");
}

template <class Visitor, SameAs<Verdict> T>
void fields(Visitor& visit, T& verdict) {
  visit.constant("schema", "pbprobe.verdict/1");
  visit("outcome", verdict.outcome, "unknown is not pass");
  visit("reason", verdict.reason);
  visit("fix", verdict.fix, "the first thing to do");
  visit("gpus", verdict.gpus);
  visit("cpu_targets", verdict.cpu_targets, "ids that this host can run");
  visit("claims", verdict.claims);
  visit("findings", verdict.findings);
  visit("holdings", verdict.holdings, "what the artifact could truly claim");
}

}  // namespace pbprobe
