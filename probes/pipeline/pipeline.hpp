// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Strings the steps together: host, artifact, measurements, verdict. It decides nothing and prints nothing; the facts
// of each step that could run are in the report, and what could not run is a sentence in `problems`.
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
#include "probes/process/request.hpp"

namespace pbprobe {

enum class Depth { quick, full };

struct ReportOptions {
  std::optional<std::filesystem::path> artifact;  // none: the torch of the active Python environment
  std::vector<std::filesystem::path> roots;       // folders to search for it; empty: torch_search_roots()
  std::optional<Claim> claim;                     // what the build is to deliver; replaces that of a document
  std::filesystem::path program;                  // pbprobe itself, started as the measuring child; empty: this one
  AuditOptions audit{.host_code = HostCodeScope::libtorch};
  Depth depth = Depth::quick;
  std::optional<Host> host;            // another machine, as it is recorded: nothing is run then
  std::optional<Emulation> emulation;  // another CPU: libtorch is run there, and no kernel of ours
  std::vector<std::string> python;  // starts what only Python can ask of the torch, and writes areas to the file whose
                                    // path follows; empty: nothing. Only full reports
  double budget_seconds = 0;        // of the whole report; 0: 10 quick (20 with a GPU), 300 full, 120 emulated
  std::function<void(std::string_view step)> progress;  // called as each step begins
  bool judged = true;  // false: only facts, which the caller judges by a policy of its own
  bool timed = true;   // false: the build is loaded and run, and nothing is timed
};

struct ReportResult {
  Report report;
  bool could_run = true;  // false: nothing to judge, so that exit code 2 is due; the report says why
};

// What `pbprobe report` does. Never fails as a whole: a step that cannot run becomes a problem of the report.
[[nodiscard]] ReportResult make_report(const ReportOptions& options);

struct AuditRequest {
  std::filesystem::path artifact;
  std::optional<Claim> claim;
  AuditOptions audit;
  bool judged = true;  // as in ReportOptions
};

// What `pbprobe audit` does: inventory, claim and a verdict only on the files, whatever machine this is;
// no verdict on a list of device code, from which the rest is left out.
// Errors: those of load_inventory.
[[nodiscard]] Result<Report> make_audit(const AuditRequest& request);

struct BenchOptions {
  BenchRequest bench;
  bool probes = false;                            // the GPUs' memories, launches and instructions too
  std::optional<std::filesystem::path> artifact;  // whose libtorch is the peer; none: as in ReportOptions
  std::filesystem::path program;                  // as in ReportOptions
  double budget_seconds = 600;
  std::function<void(std::string_view step)> progress;
};

// What `pbprobe bench` does. Errors: usage (an unknown peer, a shape that no GEMM has), failed_child.
[[nodiscard]] Result<Measurements> run_bench(const BenchOptions& options);

// Reads what a command takes as ARTIFACT into an inventory: an artifact, or a JSON file of pbprobe's own (a report with
// an inventory, or an inventory).
[[nodiscard]] Result<Inventory> load_inventory(const std::filesystem::path& artifact, const AuditOptions& options = {});

// The document in a file that begins with "{", or nothing where the file is something else.
[[nodiscard]] Result<std::optional<Report>> load_report(const std::filesystem::path& file);

// What `pbprobe host --format json` wrote, or the host of a report. Errors: not_found, usage, malformed.
[[nodiscard]] Result<Host> load_host(const std::filesystem::path& file);

// The artifact that is meant when none is given. Errors: not_found, with the folders that were searched.
[[nodiscard]] Result<std::filesystem::path> find_default_artifact(const std::vector<std::filesystem::path>& roots);

// An empty report with version, commit and date filled in.
[[nodiscard]] Report new_report();

}  // namespace pbprobe
