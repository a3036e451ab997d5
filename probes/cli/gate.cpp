// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/gate.hpp"
#include "core/json.hpp"
#include "probes/cli/cli.hpp"
#include "probes/report/gate.hpp"
#include "recipes/src/claim.hpp"

namespace pbprobe::cli {
namespace {

struct Options {
  GateRequest request;
  std::string claim;
  Level require = Level::shipped;
  bool required = false;  // --require was given
  Emulation emulation;
  Format format = Format::text;
  bool explain = false;
};

int run(const Options& options) {
  GateRequest request = options.request;
  auto claim = parse_claim(options.claim);
  if (!claim) return print_error(claim.error());
  request.claim = std::move(*claim);
  if (options.required) request.require = options.require;
  if (!options.emulation.cpu.empty()) request.emulation = options.emulation;
  request.progress = show_progress;
  const auto report = make_gate(request);
  clear_progress();
  if (!report) return print_error(report.error());
  const std::string text = options.format == Format::json ? json_text(to_json(*report))
                                                          : render_gate(*report, options.explain, text_options());
  if (const int written = write_output(text); written != kPassed) return written;
  return report->gate->outcome == Outcome::pass ? kPassed : kFailed;
}

}  // namespace

void add_gate(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("gate",
                                     "Passes only where every check that the policy requires was made and passed\n"
                                     "Examples:\n"
                                     "  pbprobe gate result-NAME --claim pytorch-python313-cuda13_0-sm121-armv9\n"
                                     "  pbprobe gate torch.whl --claim sm90,avx512,cuda=13.0 --explain\n"
                                     "  pbprobe gate .venv --claim sm90,avx512,cuda=13.0 --require executed\n"
                                     "Exit code: 0 pass, 1 fail or unknown, 2 could not run");
  static Options options;
  command
      ->add_option("ARTIFACT", options.request.artifact,
                   "What was built, as for `pbprobe audit`; or a report, which is judged by its facts")
      ->required();
  command
      ->add_option("--claim", options.claim,
                   "What it is to deliver: a variant's name, or a list of targets and versions")
      ->required();
  add_choice<Level>(*command, "--require", options.require,
                    {{"shipped", Level::shipped},
                     {"loaded", Level::loaded},
                     {"executed", Level::executed},
                     {"measured", Level::measured}},
                    "Up to which level SMs and ISAs must be proved here, in place of the policy's");
  command->add_option("--policy", options.request.policy,
                      "builder, hardware, or a file as docs/policy.schema.json describes it; by default builder, and "
                      "hardware where --require asks for more than shipped");
  command->add_flag("--full", options.request.full, "Decompress all device code: kernels that only trap are seen too");
  command->add_flag("--explain", options.explain, "Each check: whether it is required, and what became of it");
  add_format(*command, options.format);
  command->add_option("--budget", options.request.budget_seconds, "Seconds that looking at the machine may take")
      ->check(CLI::PositiveNumber);
  auto* emulate = command->add_option("--emulate", options.emulation.cpu,
                                      "Start libtorch on this CPU of QEMU's instead, as for `pbprobe report`");
  command->add_option("--program", options.emulation.program, "pbprobe as built for the emulated platform")
      ->needs(emulate);
  command->add_option("--sysroot", options.emulation.sysroot, "Where that platform's libc lies")->needs(emulate);
  command->callback([&exit_code, command] {
    options.required = command->get_option("--require")->count() > 0;
    exit_code = run(options);
  });
}

}  // namespace pbprobe::cli
