// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The pipeline: runs the steps host, artifact, measurements and verdict, and stores their facts in the report. A step
// that could not run becomes a sentence in `problems`. The pipeline decides nothing and prints nothing.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/facts/report.hpp"
#include "core/result.hpp"
#include "probes/audit/audit.hpp"
#include "probes/pipeline/emulate.hpp"
#include "probes/pipeline/operators.hpp"
#include "probes/process/request.hpp"

namespace pbprobe {

enum class Depth { quick, full };

// Use of pbprobe's own kernels. They test the machine, not the build.
enum class KernelRuns { none, verified, timed };

struct ReportOptions {
  std::optional<std::filesystem::path> artifact;  // artifact; null for the torch of the active Python environment
  std::vector<std::filesystem::path> roots;       // folders to search for it; empty for torch_search_roots()
  std::optional<Claim> claim;                     // claim of the build; replaces the claim of a document
  std::filesystem::path program;                  // pbprobe, started as the measuring child; empty for this program
  AuditOptions audit{.host_code = HostCodeScope::libtorch};
  Depth depth = Depth::quick;
  std::optional<Host> host;            // another machine, as it is recorded: nothing is run then
  std::optional<Emulation> emulation;  // another CPU: libtorch is run there, and no kernel of ours
  // Command that tests areas which need Python, and writes them to the file whose path is appended. Used for full
  // reports; may be empty.
  std::vector<std::string> python;
  double budget_seconds = 0;  // budget of the whole report; 0: 10 quick (20 with a GPU), 300 full, 120 emulated
  std::function<void(std::string_view step)> progress;  // called as each step begins
  bool judged = true;                        // false: only facts, which the caller judges by a policy of its own
  KernelRuns kernels = KernelRuns::timed;    // timed also measures libtorch beside them
  std::optional<OperatorOptions> operators;  // also compares torch's operators
};

struct ReportResult {
  Report report;
  bool could_run = true;  // false if nothing could be judged (exit code 2); the report has the reason
};

// Implements `pbprobe report`. Never fails as a whole: a step that cannot run becomes a problem of the report.
[[nodiscard]] ReportResult make_report(const ReportOptions& options);

struct AuditRequest {
  std::filesystem::path artifact;
  std::optional<Claim> claim;
  AuditOptions audit;
  bool judged = true;  // see ReportOptions
};

// Implements `pbprobe audit`: inventory, claim, and a verdict on the files only, independent of this machine. A
// device-code list contains nothing else, and gets no verdict. Errors: as for load_inventory.
[[nodiscard]] Result<Report> make_audit(const AuditRequest& request);

struct BenchOptions {
  BenchRequest bench;
  bool probes = false;                            // measures memories, launches and instructions of the GPUs
  std::optional<std::filesystem::path> artifact;  // artifact whose libtorch is the peer; null as in ReportOptions
  std::filesystem::path program;                  // see ReportOptions
  double budget_seconds = 600;
  std::function<void(std::string_view step)> progress;
};

// Implements `pbprobe bench`. Errors: usage (unknown peer, invalid shape), failed_child.
[[nodiscard]] Result<Measurements> run_bench(const BenchOptions& options);

// Loads an ARTIFACT argument as inventory: an artifact, or a JSON file of pbprobe (a report with an inventory, or an
// inventory).
[[nodiscard]] Result<Inventory> load_inventory(const std::filesystem::path& artifact, const AuditOptions& options = {});

// The document in a file that begins with "{", or nothing where the file is something else.
[[nodiscard]] Result<std::optional<Report>> load_report(const std::filesystem::path& file);

// Loads the output of `pbprobe host --format json`, or the host of a report. Errors: not_found, usage, malformed.
[[nodiscard]] Result<Host> load_host(const std::filesystem::path& file);

// Finds the default artifact. Error: not_found, with the searched folders.
[[nodiscard]] Result<std::filesystem::path> find_default_artifact(const std::vector<std::filesystem::path>& roots);

// An empty report with version, commit and date filled in.
[[nodiscard]] Report new_report();

}  // namespace pbprobe
