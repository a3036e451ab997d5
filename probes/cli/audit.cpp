// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "core/facts/json.hpp"
#include "probes/cli/cli.hpp"
#include "probes/pipeline/pipeline.hpp"
#include "recipes/src/claim.hpp"

namespace pbprobe::cli {
namespace {

struct AuditArguments {
  std::vector<std::filesystem::path> artifacts;
  std::string claim;
  bool claimed = false;  // also by an empty one, which is refused
  Format format = Format::text;
  AuditOptions audit;
  bool table = false;
};

// Without a claim nobody asked for a verdict: only the inventory.
std::string json_of(const Report& report) {
  return json_text(report.claim ? to_json(report) : to_json(*report.inventory));
}

// What was not read may hide anything, so that it is never 0.
int exit_code_of(const Report& report) {
  const bool unread = std::any_of(report.inventory->files.begin(), report.inventory->files.end(),
                                  [](const File& file) { return file.problem.has_value(); });
  if (unread || !report.inventory->problems.empty()) return kFailed;
  return report.verdict && report.verdict->outcome == Outcome::fail ? kFailed : kPassed;
}

Result<Report> audit_one(const AuditArguments& options, const std::filesystem::path& artifact) {
  AuditRequest request{.artifact = artifact, .audit = options.audit};
  if (options.claimed) {
    PBPROBE_TRY(request.claim, parse_claim(options.claim));
  }
  show_progress("reading " + artifact.string());
  auto report = make_audit(request);
  clear_progress();
  return report;
}

// One row each; what cannot be audited is reported beside the table, and leaves no row.
int run_table(const AuditArguments& options) {
  std::vector<Report> reports;
  int exit_code = kPassed;
  for (const auto& artifact : options.artifacts) {
    auto report = audit_one(options, artifact);
    if (!report) {
      exit_code = print_error(report.error());
      continue;
    }
    exit_code = std::max(exit_code, exit_code_of(*report));
    reports.push_back(std::move(*report));
  }
  const int written = write_output(render_table(reports));
  return written == kPassed ? exit_code : written;
}

int run(const AuditArguments& options) {
  if (options.table) return run_table(options);
  if (options.artifacts.size() > 1)
    return print_error(
        make_error(ErrorCode::usage, "{} artifacts: give one, or --table for a row of each", options.artifacts.size()));
  const auto report = audit_one(options, options.artifacts.front());
  if (!report) return print_error(report.error());
  const std::string text = options.format == Format::json ? json_of(*report) : render_audit(*report, text_options());
  if (const int written = write_output(text); written != kPassed) return written;
  return exit_code_of(*report);
}

}  // namespace

void add_audit(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("audit",
                         "What a PyTorch build ships, and whether that is what it claims, read only from its files\n"
                         "Examples:\n"
                         "  pbprobe audit torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl\n"
                         "  pbprobe audit .venv/lib/python3.11/site-packages --format json\n"
                         "  pbprobe audit libtorch_cuda.so --device-code-only\n"
                         "  pbprobe audit kernels.cubin --claim sm90\n"
                         "  pbprobe audit --table torch-*.whl\n"
                         "  pbprobe audit result-NAME --claim pytorch-python313-cuda13_0-sm121-armv9\n"
                         "  pbprobe audit torch.whl --claim sm90,avx512,cuda=13.0,torch=2.10.0\n"
                         "Exit code: 0 nothing failed (pass, or unknown and reported so), 1 a check failed or "
                         "something could not be read, 2 could not run");
  static AuditArguments options;
  command
      ->add_option("ARTIFACT", options.artifacts,
                   "A wheel, an environment, site-packages, a libtorch folder, Nix outputs, a shared object, or JSON "
                   "that pbprobe wrote")
      ->required();
  auto* claim = command->add_option("--claim", options.claim,
                                    "What it is to deliver: a variant's name, or a list of targets and versions");
  add_format(*command, options.format);
  auto* only = command->add_flag("--device-code-only", options.audit.device_code_only,
                                 "List device code by its headers, and leave out all else");
  only->excludes(claim);
  command->add_flag("--table", options.table, "One row of a Markdown table for each ARTIFACT")->excludes(only);
  command->callback([&exit_code, claim] {
    options.claimed = claim->count() > 0;
    exit_code = run(options);
  });
}

}  // namespace pbprobe::cli
