// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The one document, pbprobe.report/1. Every section is optional, and an object with its own schema key.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/facts/baseline.hpp"
#include "core/facts/claim.hpp"
#include "core/facts/emulated.hpp"
#include "core/facts/environment.hpp"
#include "core/facts/host.hpp"
#include "core/facts/imports.hpp"
#include "core/facts/inventory.hpp"
#include "core/facts/measurement.hpp"
#include "core/facts/preflight.hpp"
#include "core/facts/reference.hpp"
#include "core/facts/verdict.hpp"

namespace pbprobe {

// Where the facts of an artifact come from.
enum class InputKind {
  artifact,  // its files were read
  facts,     // a document was, which says so of files
};

[[nodiscard]] std::span<const EnumName<InputKind>> enum_names(InputKind);

// One of several runs of a gate that were joined: all of its report but the claim, which they share.
struct GatedRun {
  std::string version;  // pbprobe's
  std::string commit;
  std::string created;
  InputKind input = InputKind::facts;
  std::optional<std::string> signed_by;  // key that its evidence was signed with, as it was checked when it was joined
  std::optional<Host> host;
  std::optional<Inventory> inventory;
  std::optional<Measurements> measurements;
  std::optional<BaselineComparison> baseline;
  std::optional<ReferenceBuild> reference;
  std::optional<std::vector<EmulatedLoad>> emulated_loads;  // of each claimed CPU row; null: not asked for
  Verdict verdict;
  std::vector<std::string> problems;
};

struct Report {
  std::string version;  // pbprobe's
  std::string commit;
  std::string created;  // UTC, ISO 8601
  InputKind input = InputKind::facts;
  std::optional<Host> host;
  std::optional<Claim> claim;
  std::optional<Inventory> inventory;
  std::optional<Measurements> measurements;
  std::optional<BaselineComparison> baseline;
  std::optional<ReferenceBuild> reference;
  std::optional<std::vector<EmulatedLoad>> emulated_loads;  // of each claimed CPU row; null: not asked for
  std::optional<Preflight> preflight;                       // null: nobody compiles with it on this machine
  std::optional<Environment> environment;                   // the packages beside torch; null: not looked at
  std::optional<std::vector<Import>> imports;               // null: not tried
  std::optional<Verdict> verdict;                           // by the policy that it names
  std::optional<std::vector<GatedRun>> joined;              // null: one run
  std::optional<double> seconds;                            // that it took; null: nothing was run for it
  std::vector<std::string> problems;  // steps that could not run, one sentence each with the way out
};

template <class Visitor, SameAs<GatedRun> T>
void fields(Visitor& visit, T& run) {
  visit("version", run.version, "pbprobe's version");
  visit("commit", run.commit, "of pbprobe");
  visit("created", run.created, "UTC, ISO 8601");
  visit("input", run.input, "artifact: its files were read; facts: a document was");
  visit("signed_by", run.signed_by, "id of the trusted key that its evidence was signed with; null: of none");
  visit("host", run.host, "this machine, or the one that wrote the document");
  visit("inventory", run.inventory, "what the build holds");
  visit("measurements", run.measurements, "what ran");
  visit("baseline", run.baseline, "the comparison with another libtorch");
  visit("reference", run.reference, "what such builds hold");
  visit("emulated_loads", run.emulated_loads, "loads on emulated CPUs");
  visit("verdict", run.verdict, "what it all comes to");
  visit("problems", run.problems, "steps that could not run");
}

template <class Visitor, SameAs<Report> T>
void fields(Visitor& visit, T& report) {
  visit.constant("schema", "pbprobe.report/1");
  visit("version", report.version, "pbprobe's version");
  visit("commit", report.commit, "of pbprobe");
  visit("created", report.created, "UTC, ISO 8601");
  visit("input", report.input, "artifact: its files were read; facts: a document was");
  visit("host", report.host, "this machine, or the one that wrote the document");
  visit("claim", report.claim, "what the build says of itself");
  visit("inventory", report.inventory, "what the build holds");
  visit("measurements", report.measurements, "what ran");
  visit("baseline", report.baseline, "the build beside a generic one; null: none was given");
  visit("reference", report.reference, "what a public build of this torch holds; null: none is known, or not asked");
  visit("emulated_loads", report.emulated_loads, "on an emulated CPU of each claimed row; null: not tried");
  visit("preflight", report.preflight, "what torch.compile and Triton find to compile with; null: not looked for");
  visit("environment", report.environment,
        "torch and the packages beside it, a row each; null: it is by itself, or something is claimed of it");
  visit("imports", report.imports, "torch, and what links it, imported in processes of their own; null: not tried");
  visit("verdict", report.verdict, "what it all comes to");
  visit("joined", report.joined, "the runs that the verdict joins; null: it is of this one");
  visit("seconds", report.seconds, "that it took; null: nothing was run for it");
  visit("problems", report.problems, "steps that could not run");
}

}  // namespace pbprobe
