// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>

#include "core/facts/json.hpp"
#include "core/host/host.hpp"
#include "core/strings.hpp"
#include "probes/audit/environment.hpp"
#include "probes/cli/cli.hpp"
#include "probes/pipeline/environment.hpp"
#include "probes/pipeline/pipeline.hpp"
#include "probes/report/attest.hpp"
#include "probes/report/text.hpp"
#include "recipes/src/claim.hpp"

namespace pbprobe::cli {
namespace {

struct AuditArguments {
  std::vector<std::filesystem::path> artifacts;
  std::string claim;
  bool claimed = false;  // also by an empty one, which is refused
  Format format = Format::text;
  std::optional<std::filesystem::path> output;
  AuditOptions audit;
  bool table = false;
  bool strict = false;         // treat unknown as failure
  bool distributions = false;  // one row per package
  bool kernels = false;
  bool no_cache = false;
  std::vector<Sm> gpus;
  std::optional<MajorMinor> driver;  // driver of this machine, if its GPUs are requested
  Documents documents;
};

TextOptions text_style(const AuditArguments& options) {
  return options.output ? TextOptions{} : text_options();
}

// Without a claim there is no verdict: prints only the inventory.
std::string render_json(const Report& report) {
  return json_text(report.claim ? to_json(report) : to_json(*report.inventory));
}

// Unread files may hide any fault, so that they always fail.
int choose_exit_code(const Report& report, bool strict) {
  const bool unread =
      std::ranges::any_of(report.inventory->files, [](const File& file) { return file.problem.has_value(); });
  if (unread || !report.inventory->problems.empty()) return kFailed;
  const Outcome outcome = report.verdict ? report.verdict->outcome : Outcome::unknown;
  return outcome == Outcome::fail || (strict && outcome != Outcome::pass) ? kFailed : kPassed;
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

// Prints one row per artifact. Errors are reported next to the table; a failed artifact has no row.
Result<int> run_table(const AuditArguments& options) {
  std::vector<Report> reports;
  int exit_code = kPassed;
  for (const auto& artifact : options.artifacts) {
    auto report = audit_one(options, artifact);
    if (!report) {
      exit_code = print_error(report.error());
      continue;
    }
    exit_code = std::max(exit_code, choose_exit_code(*report, options.strict));
    reports.push_back(std::move(*report));
  }
  PBPROBE_CHECK(write_output(render_table(reports), options.output));
  return exit_code;
}

// A package with a fault fails. So does an unread file, which may hide a fault.
int choose_exit_code(const Environment& environment) {
  const auto failed = [](const Distribution& row) { return row.worst == Severity::fail || !row.problems.empty(); };
  const auto& rows = environment.distributions;
  return !environment.problems.empty() || std::ranges::any_of(rows, failed) ? kFailed : kPassed;
}

Result<Environment> make_rows(const AuditArguments& options) {
  const char* library_path = std::getenv("LD_LIBRARY_PATH");
  auto environment = make_environment({.artifacts = options.artifacts,
                                       .gpus = options.gpus,
                                       .driver = options.driver,
                                       .library_path = library_path == nullptr ? "" : library_path,
                                       .cache = options.audit.cache,
                                       .progress = show_progress});
  clear_progress();
  return environment;
}

Result<int> run_rows(const AuditArguments& options) {
  PBPROBE_TRY(const Environment environment, make_rows(options));
  const std::string text = options.format == Format::json   ? json_text(to_json(environment))
                           : options.format == Format::html ? render_html(environment)
                                                            : render_environment(environment, text_style(options));
  PBPROBE_CHECK(write_output(text, options.output));
  return choose_exit_code(environment);
}

// A folder of packages without a torch, on which nothing is claimed, is its packages.
bool wants_rows(const AuditArguments& options) {
  if (options.distributions || !options.gpus.empty()) return true;
  if (options.claimed || options.kernels || options.audit.device_code_only || options.artifacts.size() > 1)
    return false;
  return holds_only_other_packages(options.artifacts.front());
}

// For an environment, the rows of the packages beside torch come first: they have faults more often than torch.
std::string render(const AuditArguments& options, const Report& report) {
  if (options.format == Format::json) return render_json(report);
  if (options.format == Format::html) return render_html(report);
  if (options.kernels) return render_kernels(report, text_style(options));
  const std::string text = render_audit(report, text_style(options));
  const bool rest = !options.claimed && !options.audit.device_code_only && holds_packages(options.artifacts.front());
  const auto rows = rest ? make_rows(options) : Result<Environment>(Environment{});
  if (!rows || rows->distributions.size() < 2) return text;
  return render_environment(*rows, text_style(options)) + "\n" + text;
}

Result<int> run(const AuditArguments& options) {
  for (const auto& artifact : options.artifacts)
    PBPROBE_CHECK(check_outputs(options.output, options.documents, artifact));
  if (options.documents.asked() && (options.table || wants_rows(options)))
    return make_error(ErrorCode::usage,
                      "--sarif, --junit and --markdown need the verdict of one build: give one build, "
                      "without --table, --distributions and --for");
  if (options.table) return run_table(options);
  if (wants_rows(options)) return run_rows(options);
  if (options.artifacts.size() > 1)
    return make_error(ErrorCode::usage, "{} artifacts: give one, or --table for one row per artifact",
                      options.artifacts.size());
  PBPROBE_TRY(const Report report, audit_one(options, options.artifacts.front()));
  PBPROBE_CHECK(write_output(render(options, report), options.output));
  PBPROBE_CHECK(write_documents(report, options.documents));
  return choose_exit_code(report, options.strict);
}

void add_gpus_of_this_machine(std::vector<Sm>& gpus, std::optional<MajorMinor>& driver) {
  const auto host = detect_host(system_sources());
  if (!host) throw CLI::ValidationError("--for", host.error().message);
  for (const auto& gpu : host->gpus) {
    const auto sm = parse_sm(gpu.capability);
    if (sm && std::ranges::find(gpus, *sm) == gpus.end()) gpus.push_back(*sm);
  }
  driver = parse_major_minor(host->driver.cuda_version.value_or(""));
  if (gpus.empty()) throw CLI::ValidationError("--for", "no GPU found: " + host->driver.sentence);
}

// Parses "sm121", "sm_121", "121", "12.1" or "sm90a". A GPU has no suffix: only code has.
std::optional<Sm> parse_gpu(std::string_view text) {
  if (text.starts_with("sm") && !text.starts_with("sm_")) text.remove_prefix(2);
  const auto sm = parse_sm(text);
  return sm ? std::optional(Sm{sm->major, sm->minor}) : std::nullopt;
}

// Parses "sm121,8.7,here". "here": the GPUs of this machine.
std::vector<Sm> parse_gpus(const std::string& list, std::optional<MajorMinor>& driver) {
  std::vector<Sm> gpus;
  for (const std::string_view one : split(list, ',')) {
    if (one == "here") {
      add_gpus_of_this_machine(gpus, driver);
      continue;
    }
    const auto gpu = parse_gpu(one);
    if (!gpu) throw CLI::ValidationError("--for", fmt::format("\"{}\" is not a GPU's SM: write sm121, or 12.1", one));
    gpus.push_back(*gpu);
  }
  return gpus;
}

}  // namespace

void add_audit(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("audit",
                         "List the contents of a PyTorch build, and check them against a claim. Reads files only\n"
                         "Examples:\n"
                         "  pbprobe audit torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl\n"
                         "  pbprobe audit .venv/lib/python3.11/site-packages --format json\n"
                         "  pbprobe audit libtorch_cuda.so --device-code-only\n"
                         "  pbprobe audit kernels.cubin --claim sm90\n"
                         "  pbprobe audit --table torch-*.whl\n"
                         "  pbprobe audit .venv/lib/python3.11/site-packages --distributions\n"
                         "  pbprobe audit wheels/ --for sm121,sm90\n"
                         "  pbprobe audit wheels/ --for sm121,sm90 --format html --output wheels.html\n"
                         "  pbprobe audit xformers-0.0.35-py39-none-manylinux_2_28_x86_64.whl --kernels\n"
                         "  pbprobe audit result-NAME --claim pytorch-python313-cuda13_0-sm121-armv9\n"
                         "  pbprobe audit torch.whl --claim sm90,avx512,cuda=13.0,torch=2.10.0\n"
                         "Exit code: 0 nothing failed (pass, or reported as unknown), 1 a check failed or "
                         "something could not be read, 2 could not run");
  static AuditArguments options;
  command
      ->add_option("ARTIFACT", options.artifacts,
                   "A wheel, an environment, site-packages, a libtorch folder, Nix outputs, a shared object, or JSON "
                   "that pbprobe wrote")
      ->required();
  auto* claim = command->add_option("--claim", options.claim,
                                    "Claim to check: a variant name, or a list such as sm90,avx512,cuda=13.0,only");
  add_format_and_output(*command, options.format, options.output);
  auto* only = command->add_flag("--device-code-only", options.audit.device_code_only,
                                 "List only the device code (cubins, PTX), as its headers state it");
  only->excludes(claim);
  command->add_flag("--table", options.table, "One row of a Markdown table for each ARTIFACT")->excludes(only);
  auto* rows = command->add_flag("--distributions", options.distributions,
                                 "Print one row per package: torch ABI, Python, CUDA, SMs, PTX, worst finding. Default "
                                 "for a folder of wheels, and for packages without a torch");
  auto* gpus = command->add_option_function<std::string>(
      "--for", [](const std::string& list) { options.gpus = parse_gpus(list, options.driver); },
      "Count the kernels of each package for these GPUs (sm121,sm90; or here, for this machine), and list kernels "
      "without code for them");
  gpus->option_text("SMS");
  auto* kernels = command->add_flag("--kernels", options.audit.kernel_names, "List the kernels, grouped by SM");
  for (auto* row : {rows, gpus, kernels}) row->excludes(claim)->excludes(only);
  kernels->excludes(rows)->excludes(gpus);
  add_documents(*command, options.documents);
  command->add_flag("--no-cache", options.no_cache, "Read every file again, and do not update the cache");
  command->add_flag("--strict", options.strict, "Also exit with 1 if the verdict is unknown")->excludes(only);
  set_run(*command, exit_code, [claim] {
    options.claimed = claim->count() > 0;
    options.kernels = options.audit.kernel_names;
    options.audit.kernel_families = options.audit.kernel_names;
    if (!options.no_cache) options.audit.cache = default_cache();
    return run(options);
  });
}

}  // namespace pbprobe::cli
