// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "core/json.hpp"
#include "probes/cli/cli.hpp"
#include "probes/pipeline/pipeline.hpp"
#include "recipes/src/claim.hpp"

namespace pbprobe::cli {
namespace {

struct Options {
  std::filesystem::path artifact;
  std::string claim;
  Format format = Format::text;
  AuditOptions audit;
};

// Without a claim nobody asked for a verdict: the inventory alone.
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

int run(const Options& options) {
  AuditRequest request{.artifact = options.artifact, .audit = options.audit};
  if (!options.claim.empty()) {
    auto claim = parse_claim(options.claim);
    if (!claim) return print_error(claim.error());
    request.claim = std::move(*claim);
  }
  show_progress("reading " + options.artifact.string());
  const auto report = make_audit(request);
  clear_progress();
  if (!report) return print_error(report.error());
  if (const int written =
          write_output(options.format == Format::json ? json_of(*report) : render_audit(*report, text_options()));
      written != kPassed)
    return written;
  return exit_code_of(*report);
}

}  // namespace

void add_audit(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("audit",
                                     "What a PyTorch build ships, and whether that is what it claims, read from its "
                                     "files alone\n"
                                     "Examples:\n"
                                     "  pbprobe audit torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl\n"
                                     "  pbprobe audit .venv/lib/python3.11/site-packages --format json\n"
                                     "  pbprobe audit libtorch_cuda.so --device-code-only\n"
                                     "  pbprobe audit libtorch_cuda.so --full\n"
                                     "  pbprobe audit result-NAME --claim pytorch-python313-cuda13_0-sm121-armv9\n"
                                     "  pbprobe audit torch.whl --claim sm90,avx512,cuda=13.0,torch=2.10.0\n"
                                     "Exit code: 0 nothing failed (pass, or unknown and said so), 1 a check failed or "
                                     "something could not be read, 2 could not run");
  static Options options;
  command
      ->add_option("ARTIFACT", options.artifact,
                   "A wheel, an environment, site-packages, a libtorch folder, Nix outputs, a shared object, or JSON "
                   "that pbprobe wrote")
      ->required();
  auto* claim = command->add_option("--claim", options.claim,
                                    "What it is to deliver: a variant's name, or a list of targets and versions");
  add_format(*command, options.format);
  auto* only = command->add_flag("--device-code-only", options.audit.device_code_only,
                                 "List device code by its headers, and leave out all else");
  only->excludes(claim);
  command
      ->add_flag("--full", options.audit.full,
                 "Decompress all device code: kernels, tensor instructions and traps per SM")
      ->excludes(only);
  command->callback([&exit_code] { exit_code = run(options); });
}

}  // namespace pbprobe::cli
