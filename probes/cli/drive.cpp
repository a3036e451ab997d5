// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Hidden command for the Python package: a report that uses the calling interpreter, and a document as text.
#include <iostream>
#include <iterator>

#include "core/facts/json.hpp"
#include "core/printable.hpp"
#include "probes/cli/cli.hpp"
#include "probes/pipeline/pipeline.hpp"
#include "recipes/src/claim.hpp"

namespace pbprobe::cli {
namespace {

struct DriveArguments {
  std::optional<std::filesystem::path> artifact;
  std::vector<std::filesystem::path> roots;
  std::vector<std::string> python;
  std::optional<std::string> claim;
  bool full = false;
  double budget_seconds = 0;
};

Result<int> run_report(const DriveArguments& options) {
  std::optional<Claim> claim;
  if (options.claim) {
    auto parsed = parse_claim(*options.claim);
    if (!parsed) return write_output(dump_json(Json{{"error", printable(parsed.error().message)}}, -1));
    claim = std::move(*parsed);
  }
  AuditOptions audit{.host_code = HostCodeScope::libtorch};
  if (!claim) audit.cache = default_cache();  // the cache of `pbprobe report`: reading a torch takes many seconds
  const ReportResult result = make_report({.artifact = options.artifact,
                                           .roots = options.roots,
                                           .claim = std::move(claim),
                                           .audit = audit,
                                           .depth = options.full ? Depth::full : Depth::quick,
                                           .python = options.python,
                                           .budget_seconds = options.budget_seconds,
                                           .progress = show_progress});
  clear_progress();
  return write_output(dump_json(Json{{"could_run", result.could_run}, {"report", to_json(result.report)}}, -1));
}

Result<int> run_render(bool colour) {
  const std::string document{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  PBPROBE_TRY(const Json json, parse_json(document));
  PBPROBE_TRY(const Report report, from_json<Report>(json));
  const std::string text = render_report(report, {.colour = colour});
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? kPassed : kCouldNotRun;
}

}  // namespace

void add_drive(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("drive", "Subcommands that the Python package pbprobe calls");
  command->group("");  // hidden
  command->require_subcommand(1);
  static DriveArguments options;
  auto* report = command->add_subcommand("report", "Print a report as JSON, and whether it judged a torch");
  report->add_option("ARTIFACT", options.artifact);
  report->add_option("--root", options.roots)->allow_extra_args(false);
  report->add_option("--python", options.python)->allow_extra_args(false);
  report->add_option("--budget", options.budget_seconds);
  report->add_flag("--full", options.full);
  report->add_option("--claim", options.claim);
  set_run(*report, exit_code, [] { return run_report(options); });
  static bool colour = false;
  auto* render = command->add_subcommand("render", "Render the document on standard input as text");
  render->add_flag("--color", colour);
  set_run(*render, exit_code, [] { return run_render(colour); });
}

}  // namespace pbprobe::cli
