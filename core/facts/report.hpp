// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The one document, pbprobe.report/1. Every section is optional, and an object with its own schema key.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/facts/baseline.hpp"
#include "core/facts/claim.hpp"
#include "core/facts/environment.hpp"
#include "core/facts/host.hpp"
#include "core/facts/inventory.hpp"
#include "core/facts/loading.hpp"
#include "core/facts/measurement.hpp"
#include "core/facts/operators.hpp"
#include "core/facts/preflight.hpp"
#include "core/facts/reference.hpp"
#include "core/facts/verdict.hpp"
#include "core/fields.hpp"

namespace pbprobe {

enum class LoadOutcome {
  loaded,
  died,     // ended by an instruction that the CPU lacks
  unknown,  // not tried, or ended in another way
};

// One claimed CPU row.
struct EmulatedLoad {
  std::string target;              // "avx2"
  std::optional<std::string> cpu;  // QEMU model ("Haswell"); null if no model matches this row exactly
  LoadOutcome outcome = LoadOutcome::unknown;
  std::optional<std::string> library;  // library at which the process ended
  std::string what;                    // observation, or the reason why it was not tried
};

void fields(auto& visit, SameAs<EmulatedLoad> auto& load) {
  visit("target", load.target, "the claimed row");
  visit("cpu", load.cpu, "QEMU model of the row; null if no model matches this row exactly");
  visit("outcome", load.outcome, "result of the load");
  visit("library", load.library, "library at which the process ended");
  visit("what", load.what, "observation, or the reason why it was not tried");
}

// Source of the facts about an artifact.
enum class InputKind {
  artifact,  // the files of the artifact
  facts,     // a document
};

// One run of a joined gate: its report without the claim, which all runs share.
struct GatedRun {
  std::string version;  // version of pbprobe
  std::string commit;
  std::string created;
  InputKind input = InputKind::facts;
  std::optional<std::string> signed_by;  // key that signed its evidence, verified when the runs were joined
  std::optional<Host> host;
  std::optional<Inventory> inventory;
  std::optional<Measurements> measurements;
  std::optional<BaselineComparison> baseline;
  std::optional<ReferenceBuild> reference;
  std::optional<std::vector<EmulatedLoad>> emulated_loads;  // one entry per claimed CPU row; null if not requested
  Verdict verdict;
  std::vector<std::string> problems;
};

struct Report {
  std::string version;  // version of pbprobe
  std::string commit;
  std::string created;  // UTC, ISO 8601
  InputKind input = InputKind::facts;
  std::optional<Host> host;
  std::optional<Claim> claim;
  std::optional<Inventory> inventory;
  std::optional<Measurements> measurements;
  std::optional<BaselineComparison> baseline;
  std::optional<ReferenceBuild> reference;
  std::optional<std::vector<EmulatedLoad>> emulated_loads;  // one entry per claimed CPU row; null if not requested
  std::optional<Preflight> preflight;      // compilers for torch.compile; null if nothing is compiled on this machine
  std::optional<Environment> environment;  // packages beside torch; null if not inspected
  std::optional<std::vector<Import>> imports;         // imports in separate processes; null if not tried
  std::optional<std::vector<OperatorRun>> operators;  // one entry per device; null if not requested
  std::optional<Verdict> verdict;                     // computed by the policy that it names
  std::optional<std::vector<GatedRun>> joined;        // joined runs; null for a single run
  std::optional<double> seconds;                      // duration of the run; null if nothing was run
  std::vector<std::string> problems;                  // steps that could not run, one sentence each with the fix
};

void fields(auto& visit, SameAs<GatedRun> auto& run) {
  visit("version", run.version, "pbprobe's version");
  visit("commit", run.commit, "of pbprobe");
  visit("created", run.created, "UTC, ISO 8601");
  visit("input", run.input, "artifact: facts from its files; facts: from a document");
  visit("signed_by", run.signed_by, "id of the trusted key that signed its evidence; null without a signature");
  visit("host", run.host, "this machine, or the one that wrote the document");
  visit("inventory", run.inventory, "contents of the build");
  visit("measurements", run.measurements, "what ran");
  visit("baseline", run.baseline, "the comparison with another libtorch");
  visit("reference", run.reference, "contents of reference builds");
  visit("emulated_loads", run.emulated_loads, "loads on emulated CPUs");
  visit("verdict", run.verdict, "verdict of this run");
  visit("problems", run.problems, "steps that could not run");
}

void fields(auto& visit, SameAs<Report> auto& report) {
  visit.constant("schema", "pbprobe.report/1");
  visit("version", report.version, "pbprobe's version");
  visit("commit", report.commit, "of pbprobe");
  visit("created", report.created, "UTC, ISO 8601");
  visit("input", report.input, "artifact: its files were read; facts: a document was");
  visit("host", report.host, "this machine, or the one that wrote the document");
  visit("claim", report.claim, "claim of the build");
  visit("inventory", report.inventory, "contents of the build");
  visit("measurements", report.measurements, "what ran");
  visit("baseline", report.baseline, "comparison with a generic build; null if none was given");
  visit("reference", report.reference,
        "contents of a public build of this torch; null if none is known, or not requested");
  visit("emulated_loads", report.emulated_loads, "loads on an emulated CPU of each claimed row; null if not tried");
  visit("preflight", report.preflight, "compilers and headers for torch.compile and Triton; null if not inspected");
  visit("environment", report.environment,
        "torch and the packages beside it, one row each; null if torch has no such packages, or the artifact has a "
        "claim");
  visit("imports", report.imports,
        "imports of torch and of packages that link it, in separate processes; null if not tried");
  visit("operators", report.operators,
        "torch's operators compared with higher precision, per device; null if not requested");
  visit("verdict", report.verdict, "verdict on all facts");
  visit("joined", report.joined, "runs that the verdict joins; null for a single run");
  visit("seconds", report.seconds, "duration of the run; null if nothing was run");
  visit("problems", report.problems, "steps that could not run");
}

}  // namespace pbprobe
