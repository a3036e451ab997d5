// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "core/json.hpp"
#include "probes/cli/cli.hpp"
#include "probes/pipeline/pipeline.hpp"

namespace pbprobe::cli {
namespace {

struct Options {
  std::filesystem::path artifact;
  Format format = Format::text;
  bool device_code_only = false;
};

int run(const Options& options) {
  show_progress("reading " + options.artifact.string());
  auto inventory = load_inventory(options.artifact, options.device_code_only);
  clear_progress();
  if (!inventory) return print_error(inventory.error());
  const int written = write_output(options.format == Format::json ? json_text(to_json(*inventory))
                                                                  : render_inventory(*inventory, text_options()));
  if (written != kPassed) return written;
  const bool unread = std::any_of(inventory->files.begin(), inventory->files.end(),
                                  [](const File& file) { return file.problem.has_value(); });
  return unread || !inventory->problems.empty() ? kFailed : kPassed;
}

}  // namespace

void add_audit(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("audit",
                                     "What a PyTorch build ships, read from its files alone\n"
                                     "Examples:\n"
                                     "  pbprobe audit torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl\n"
                                     "  pbprobe audit .venv/lib/python3.11/site-packages --format json\n"
                                     "  pbprobe audit libtorch_cuda.so --device-code-only\n"
                                     "Exit code: 0 all was read, 1 something could not be read, 2 could not run");
  static Options options;
  command
      ->add_option("ARTIFACT", options.artifact,
                   "A wheel, an environment, site-packages, a libtorch folder, Nix outputs, a shared object, or JSON "
                   "that pbprobe wrote")
      ->required();
  add_format(*command, options.format);
  command->add_flag("--device-code-only", options.device_code_only, "List device code, and leave out all else");
  command->callback([&exit_code] { exit_code = run(options); });
}

}  // namespace pbprobe::cli
