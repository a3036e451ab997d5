// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/facts/json.hpp"
#include "probes/cli/cli.hpp"
#include "probes/cli/documents.hpp"
#include "probes/pipeline/pipeline.hpp"
#include "probes/report/html/html.hpp"
#include "probes/report/markdown.hpp"
#include "probes/report/redact.hpp"
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
  bool strict = false;  // what is unknown fails too
  bool quick = false;
  bool no_figures = false;
  bool redact = false;
  bool no_cache = false;
  double budget_seconds = 0;
  Emulation emulation;
  Documents documents;
};

int exit_code_of(const ReportResult& result, bool strict) {
  if (!result.could_run) return kCouldNotRun;
  const Outcome outcome = result.report.verdict ? result.report.verdict->outcome : Outcome::unknown;
  return outcome == Outcome::fail || (strict && outcome != Outcome::pass) ? kFailed : kPassed;
}

std::string rendered(const Report& report, const ReportArguments& options) {
  if (options.format == ReportFormat::json) return json_text(to_json(report));
  if (options.format == ReportFormat::markdown) return markdown_of(report);
  if (options.format == ReportFormat::html) return html_of(report);
  TextOptions text = options.output ? TextOptions{} : text_options();
  text.verbose = options.verbose;
  return options.is_quiet ? render_quiet(report, text) : render_report(report, text);
}

int run(const ReportArguments& options) {
  if (options.output) {
    if (const auto usable = check_output_file(*options.output, options.artifact.value_or("")); !usable)
      return print_error(usable.error());
  }
  if (const auto usable = check_documents(options.documents, options.artifact.value_or("")); !usable)
    return print_error(usable.error());
  std::optional<Claim> claim;
  if (options.claimed) {
    auto parsed = parse_claim(options.claim);
    if (!parsed) return print_error(parsed.error());
    claim = std::move(*parsed);
  }
  std::optional<Host> host;
  if (options.host) {
    auto loaded = load_host(*options.host);
    if (!loaded) return print_error(loaded.error());
    host = std::move(*loaded);
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
                   .timed = !options.no_figures});
  clear_progress();
  if (options.redact) result.report = redact(std::move(result.report));
  if (const int written = write_output(rendered(result.report, options), options.output); written != kPassed)
    return written;
  if (const int written = write_documents(result.report, options.documents); written != kPassed) return written;
  return exit_code_of(result, options.strict);
}

// How it is shown, and what counts as a failure.
void add_text(CLI::App& command, ReportArguments& options) {
  add_choice<ReportFormat>(
      command, "--format", options.format,
      {{"text", ReportFormat::text},
       {"json", ReportFormat::json},
       {"markdown", ReportFormat::markdown},
       {"html", ReportFormat::html}},
      "text, json, markdown, as for a job summary or an issue, or html: a page in one file, which fetches nothing");
  add_colour(command);
  auto* verbose =
      command.add_flag("--verbose", options.verbose,
                       "What each GPU gets, device code, every figure, what processes printed, environment");
  command.add_flag("--quiet", options.is_quiet, "One line: the verdict and its reason")->excludes(verbose);
  command.add_flag("--strict", options.strict, "Exit with 1 where the verdict is unknown, too");
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
      "  pbprobe report --quiet --strict                 one line; 0 only where it passes\n"
      "  pbprobe report ARM64_SITE_PACKAGES --emulate neoverse-n1 --program build/aarch64/bin/pbprobe\n"
      "What a row says of a device or a claim:\n"
      "  ships             the files hold code that runs there: ok native, ~ compatible or PTX, FAIL none\n"
      "  loads             the loader and the driver took it here\n"
      "  correct           it computed correctly here\n"
      "  vs generic build  it was timed interleaved with a baseline (`pbprobe gate --baseline`)\n"
      "\"not tested\" was not tried here; \"unknown\" was, and has no answer.\n"
      "Exit code: 0 nothing failed (pass, or unknown and reported so), 1 a check failed, 2 could not run");
  static ReportArguments options;
  command->add_option("ARTIFACT", options.artifact,
                      "A site-packages folder, an environment, a libtorch, a wheel, or a report; by default the torch "
                      "of the active environment");
  auto* claim = command->add_option(
      "--claim", options.claim, "What the build is to deliver: a variant's name, or a list of targets and versions");
  auto* quick = command->add_flag("--quick", options.quick, "Under 10 seconds, 20 with a GPU (the default)");
  auto* full = command->add_flag("--full", options.full, "More shapes, more samples, every core checked: minutes");
  full->excludes(quick);
  command->add_flag("--no-figures", options.no_figures, "Load the build and let it compute, but time nothing")
      ->excludes(full);
  add_text(*command, options);
  command->add_option("--output", options.output, "Write to this file instead of standard output; - is that");
  add_documents(*command, options.documents);
  command->add_option("--budget", options.budget_seconds, "Seconds that the whole report may take")
      ->check(number_between(kLeastSeconds, kMostSeconds));
  auto* host =
      command->add_option("--host", options.host,
                          "Judge it for the machine of this file, of `pbprobe host --format json` or a report; "
                          "nothing is run, so that what only running shows is unknown");
  auto* emulate = command
                      ->add_option("--emulate", options.emulation.cpu,
                                   "Run libtorch on this CPU of QEMU's instead, such as Haswell, neoverse-n1 or "
                                   "max,sve-default-vector-length=32; only correctness, no speeds")
                      ->excludes(host);
  command->add_option("--program", options.emulation.program, "pbprobe as built for the emulated platform")
      ->needs(emulate);
  command->add_option("--sysroot", options.emulation.sysroot, "Where that platform's libc lies")->needs(emulate);
  command->add_flag("--no-cache", options.no_cache,
                    "Read every file, also what was read before and has not changed, and keep nothing of it");
  command->add_flag("--redact", options.redact, "Leave out host names, serial numbers and home folders");
  command->callback([&exit_code, claim] {
    options.claimed = claim->count() > 0;
    exit_code = run(options);
  });
}

}  // namespace pbprobe::cli
