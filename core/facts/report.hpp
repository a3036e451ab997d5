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
  FIELD(std::string, target, "the claimed row");  // "avx2"
  FIELD(std::optional<std::string>, cpu, "QEMU model of the row; null if no model matches this row exactly");
  FIELD(LoadOutcome, outcome, "result of the load") = LoadOutcome::unknown;
  FIELD(std::optional<std::string>, library, "library at which the process ended");
  FIELD(std::string, what, "observation, or the reason why it was not tried");
};

// Source of the facts about an artifact.
enum class InputKind {
  artifact,  // the files of the artifact
  facts,     // a document
};

// One run of a joined gate: its report without the claim, which all runs share.
struct GatedRun {
  FIELD(std::string, version, "pbprobe's version");
  FIELD(std::string, commit, "of pbprobe");
  FIELD(std::string, created, "UTC, ISO 8601");
  FIELD(InputKind, input, "artifact: facts from its files; facts: from a document") = InputKind::facts;
  FIELD(std::optional<std::string>, signed_by,
        "id of the trusted key that signed its evidence; null without a signature");
  FIELD(std::optional<Host>, host, "this machine, or the one that wrote the document");
  FIELD(std::optional<Inventory>, inventory, "contents of the build");
  FIELD(std::optional<Measurements>, measurements, "what ran");
  FIELD(std::optional<BaselineComparison>, baseline, "the comparison with another libtorch");
  FIELD(std::optional<ReferenceBuild>, reference, "contents of reference builds");
  // one entry per claimed CPU row; null if not requested
  FIELD(std::optional<std::vector<EmulatedLoad>>, emulated_loads, "loads on emulated CPUs");
  FIELD(Verdict, verdict, "verdict of this run");
  FIELD(std::vector<std::string>, problems, "steps that could not run");
};

// Document of `pbprobe report`, `audit` and `gate`: facts of build and machine, and the verdict.
struct Report {
  SCHEMA("pbprobe.report/1");
  FIELD(std::string, version, "pbprobe's version");
  FIELD(std::string, commit, "of pbprobe");
  FIELD(std::string, created, "UTC, ISO 8601");
  FIELD(InputKind, input, "artifact: its files were read; facts: a document was") = InputKind::facts;
  FIELD(std::optional<Host>, host, "this machine, or the one that wrote the document");
  FIELD(std::optional<Claim>, claim, "claim of the build");
  FIELD(std::optional<Inventory>, inventory, "contents of the build");
  FIELD(std::optional<Measurements>, measurements, "what ran");
  FIELD(std::optional<BaselineComparison>, baseline, "comparison with a generic build; null if none was given");
  FIELD(std::optional<ReferenceBuild>, reference,
        "contents of a public build of this torch; null if none is known, or not requested");
  FIELD(std::optional<std::vector<EmulatedLoad>>, emulated_loads,
        "loads on an emulated CPU of each claimed row; null if not tried");
  FIELD(std::optional<Preflight>, preflight,
        "compilers and headers for torch.compile and Triton; null if not inspected");
  FIELD(std::optional<Environment>, environment,
        "torch and the packages beside it, one row each; null if torch has no such packages, or the artifact has a "
        "claim");
  FIELD(std::optional<std::vector<Import>>, imports,
        "imports of torch and of packages that link it, in separate processes; null if not tried");
  FIELD(std::optional<std::vector<OperatorRun>>, operators,
        "torch's operators compared with higher precision, per device; null if not requested");
  FIELD(std::optional<Verdict>, verdict, "verdict on all facts");
  FIELD(std::optional<std::vector<GatedRun>>, joined, "runs that the verdict joins; null for a single run");
  FIELD(std::optional<double>, seconds, "duration of the run; null if nothing was run");
  FIELD(std::vector<std::string>, problems, "steps that could not run");
};

}  // namespace pbprobe
