// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/facts/json.hpp"
#include "probes/cli/cli.hpp"
#include "probes/pipeline/pipeline.hpp"
#include "probes/report/attest.hpp"
#include "probes/report/text.hpp"
#include "recipes/src/claim.hpp"

namespace pbprobe::cli {
namespace {

enum class ReportFormat { text, json, markdown, html };

struct ReportArguments {
  std::optional<std::filesystem::path> artifact;
  std::optional<std::filesystem::path> output;
  std::optional<std::filesystem::path> host;
  std::string claim;
  bool claimed = false;  // also by an empty one, which is refused
  ReportFormat format = ReportFormat::text;
  bool full = false;
  bool verbose = false;
  bool is_quiet = false;
  bool strict = false;  // treat unknown as failure
  bool quick = false;
  bool no_figures = false;
  bool redact = false;
  bool no_cache = false;
  bool operators = false;
  bool compile = false;
  std::vector<std::string> only_operators;
  std::filesystem::path plant;  // for tests
  double budget_seconds = 0;
  Emulation emulation;
  Documents documents;
};

int choose_report_exit_code(const ReportResult& result, bool strict) {
  if (!result.could_run) return kCouldNotRun;
  const Outcome outcome = result.report.verdict ? result.report.verdict->outcome : Outcome::unknown;
  return outcome == Outcome::fail || (strict && outcome != Outcome::pass) ? kFailed : kPassed;
}

std::string rendered(const Report& report, const ReportArguments& options) {
  if (options.format == ReportFormat::json) return json_text(to_json(report));
  if (options.format == ReportFormat::markdown) return render_markdown(report);
  if (options.format == ReportFormat::html) return render_html(report);
  TextOptions text = options.output ? TextOptions{} : text_options();
  text.verbose = options.verbose;
  return options.is_quiet ? render_quiet(report, text) : render_report(report, text);
}

std::optional<OperatorOptions> choose_operators(const ReportArguments& options) {
  if (!options.operators && !options.compile) return std::nullopt;
  return OperatorOptions{.compute = options.operators,
                         .compile = options.compile,
                         .seconds = options.budget_seconds > 0 ? std::optional(options.budget_seconds) : std::nullopt,
                         .only = options.only_operators,
                         .plant = options.plant,
                         .progress = show_progress};
}

Result<int> run(const ReportArguments& options) {
  PBPROBE_CHECK(check_outputs(options.output, options.documents, options.artifact.value_or("")));
  std::optional<Claim> claim;
  if (options.claimed) {
    PBPROBE_TRY(claim, parse_claim(options.claim));
  }
  std::optional<Host> host;
  if (options.host) {
    PBPROBE_TRY(host, load_host(*options.host));
  }
  constexpr double kQuickSeconds = 10;
  constexpr double kFullSeconds = 300;
  expect_seconds(options.budget_seconds > 0 ? options.budget_seconds : options.full ? kFullSeconds : kQuickSeconds);
  AuditOptions audit{.host_code = HostCodeScope::libtorch};
  if (!options.no_cache && !claim) audit.cache = default_cache();
  ReportResult result =
      make_report({.artifact = options.artifact,
                   .claim = claim,
                   .audit = audit,
                   .depth = options.full ? Depth::full : Depth::quick,
                   .host = std::move(host),
                   .emulation = options.emulation.cpu.empty() ? std::nullopt : std::optional(options.emulation),
                   .budget_seconds = options.budget_seconds,
                   .progress = show_progress,
                   .kernels = options.no_figures ? KernelRuns::none : KernelRuns::timed,
                   .operators = choose_operators(options)});
  clear_progress();
  if (options.redact) result.report = redact(std::move(result.report));
  PBPROBE_CHECK(write_output(rendered(result.report, options), options.output));
  PBPROBE_CHECK(write_documents(result.report, options.documents));
  return choose_report_exit_code(result, options.strict);
}

// Adds the options for display and exit code.
void add_text(CLI::App& command, ReportArguments& options) {
  add_choice<ReportFormat>(command, "--format", options.format,
                           {{"text", ReportFormat::text},
                            {"json", ReportFormat::json},
                            {"markdown", ReportFormat::markdown},
                            {"html", ReportFormat::html}},
                           "text, json, markdown (for a job summary or an issue), or html (one self-contained page)");
  add_colour(command);
  auto* verbose =
      command.add_flag("--verbose", options.verbose,
                       "Add code for each GPU, device code, every figure, output of processes, environment");
  command.add_flag("--quiet", options.is_quiet, "Print one line: the verdict and its reason")->excludes(verbose);
  command.add_flag("--strict", options.strict, "Also exit with 1 if the verdict is unknown");
}

void add_operators(CLI::App& command, ReportArguments& options, CLI::Option* host, CLI::Option* emulate) {
  auto* operators = command.add_flag(
      "--operators", options.operators,
      "Also compare torch's operators with double precision on the CPU: 90 seconds (or --budget) per device");
  auto* compile =
      command.add_flag("--compile", options.compile,
                       "Also compare torch.compile of about 60 operators with double precision: 300 seconds "
                       "(or --budget) per device");
  command.add_option("--only-operators", options.only_operators, "Only these names of torch's database of operators")
      ->delimiter(',');
  command.add_option("--plant", options.plant)->group("");
  for (auto* option : {operators, compile}) option->excludes(host)->excludes(emulate);
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "report",
      "Verdict, reason and fix for a torch on this machine\n"
      "Examples:\n"
      "  pbprobe report                                  the torch of the active environment\n"
      "  pbprobe report .venv --format json --output report.json\n"
      "  pbprobe report --format html --output report.html\n"
      "  pbprobe report report.json                      judge a report again from its facts\n"
      "  pbprobe report .venv --claim sm90,avx512        is it also what it claims to be?\n"
      "  pbprobe report .venv --host host.json           on the machine where `pbprobe host --format json` wrote it\n"
      "  pbprobe report .venv --emulate SandyBridge      does it start and compute correctly on another CPU?\n"
      "  pbprobe report --quiet --strict                 one line; exit code 0 only if it passes\n"
      "  pbprobe report ARM64_SITE_PACKAGES --emulate neoverse-n1 --program build/aarch64/bin/pbprobe\n"
      "What a row says of a device or a claim:\n"
      "  ships             the files hold code that runs there: ok native, ~ compatible or PTX, FAIL none\n"
      "  loads             the loader and the driver took it here\n"
      "  correct           it computed correctly here\n"
      "  vs generic build  it was timed interleaved with a baseline (`pbprobe gate --baseline`)\n"
      "\"not tested\" was not tried here; \"unknown\" was, and has no answer.\n"
      "Exit code: 0 nothing failed (pass, or reported as unknown), 1 a check failed, 2 could not run");
  static ReportArguments options;
  command->add_option("ARTIFACT", options.artifact,
                      "A site-packages folder, an environment, a libtorch, a wheel, or a report; by default the torch "
                      "of the active environment");
  auto* claim = command->add_option("--claim", options.claim,
                                    "Claim of the build: a variant name, or a list such as sm90,avx512,cuda=13.0,only");
  auto* quick = command->add_flag("--quick", options.quick, "Under 10 seconds, 20 with a GPU (the default)");
  auto* full = command->add_flag("--full", options.full, "More shapes, more samples, every core checked: minutes");
  full->excludes(quick);
  command->add_flag("--no-figures", options.no_figures, "Load the build and let it compute, but time nothing")
      ->excludes(full);
  add_text(*command, options);
  command->add_option("--output", options.output, "Write to FILE (default -: standard output)");
  add_documents(*command, options.documents);
  command->add_option("--budget", options.budget_seconds, "Seconds that the whole report may take")
      ->check(number_between(kMinSeconds, kMaxSeconds));
  auto* host = command->add_option("--host", options.host,
                                   "Judge for the machine in this file (from `pbprobe host --format json`, or a "
                                   "report); runs nothing, so that results of runs are unknown");
  auto* emulate = command
                      ->add_option("--emulate", options.emulation.cpu,
                                   "Run libtorch on this QEMU CPU instead, such as Haswell, neoverse-n1 or "
                                   "max,sve-default-vector-length=32; tests correctness, not speed")
                      ->excludes(host);
  add_operators(*command, options, host, emulate);
  command->add_option("--program", options.emulation.program, "pbprobe built for the emulated platform")
      ->needs(emulate);
  command->add_option("--sysroot", options.emulation.sysroot, "Folder of the emulated platform's libc")->needs(emulate);
  command->add_flag("--no-cache", options.no_cache, "Read every file again, and do not update the cache");
  command->add_flag("--redact", options.redact, "Leave out host names, serial numbers and home folders");
  set_run(*command, exit_code, [claim] {
    options.claimed = claim->count() > 0;
    return run(options);
  });
}

}  // namespace pbprobe::cli
