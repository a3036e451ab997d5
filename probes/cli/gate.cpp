// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/gate.hpp"
#include "core/facts/json.hpp"
#include "core/open_file.hpp"
#include "probes/cli/cli.hpp"
#include "probes/pipeline/evidence.hpp"
#include "probes/report/attest.hpp"
#include "probes/report/text.hpp"
#include "recipes/src/claim.hpp"

namespace pbprobe::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxClaimBytes = 1 << 20;

struct GateArguments {
  GateRequest request;
  std::string claim;
  std::optional<fs::path> claim_file;
  Level require = Level::shipped;
  bool required = false;  // --require was given
  Emulation emulation;
  std::optional<fs::path> evidence;
  std::optional<fs::path> key;
  std::string signer;
  std::optional<fs::path> from;
  std::vector<fs::path> join;
  TrustedKeys trusted;
  Format format = Format::text;
  std::optional<fs::path> output;
  bool explain = false;
  bool redact = false;
  Documents documents;
};

std::string rendered(const Report& report, const GateArguments& options) {
  if (options.format == Format::json) return json_text(to_json(report));
  if (options.format == Format::html) return render_html(report);
  return render_gate(report, options.explain, options.output ? TextOptions{} : text_options());
}

Result<int> print(const Report& report, const GateArguments& options) {
  PBPROBE_CHECK(write_output(rendered(report, options), options.output));
  PBPROBE_CHECK(write_documents(report, options.documents));
  return report.verdict->outcome == Outcome::pass ? kPassed : kFailed;
}

// Evidence that does not agree with itself does not pass, though it was read.
Result<int> print_recomputed(const Result<Report>& report, const GateArguments& options) {
  if (report) return print(*report, options);
  if (report.error().code != ErrorCode::malformed) return report.error();
  print_error(report.error());
  return kFailed;
}

Result<int> print_again(const Result<ReadEvidence>& read, const GateArguments& options) {
  if (!read) return print_recomputed(read.error(), options);
  if (!read->trusted)
    fmt::print(stderr, "pbprobe: {}: {}\n", options.from->string(),
               read->key.empty() ? "not signed"
                                 : "the evidence is unchanged since it was signed with the key that it contains: --key "
                                   "PUB checks that the key is yours");
  return print(read->report, options);
}

Error usage(const char* what) {
  return make_error(ErrorCode::usage, "{}", what);
}

EvidenceRequest wanted_evidence(const GateArguments& options) {
  return {.folder = options.evidence.value_or(""), .key = options.key, .signer = options.signer};
}

Result<void> check_wanted(const GateArguments& options) {
  if (!options.evidence) return {};
  return check_evidence(wanted_evidence(options));
}

Result<int> print_and_attest(const Report& report, const GateArguments& options) {
  PBPROBE_TRY(const int decided, print(report, options));
  if (!options.evidence) return decided;
  const auto written = write_evidence(report, wanted_evidence(options));
  if (written) return decided;
  print_error(written.error());
  return decided == kPassed ? kCouldNotRun : decided;
}

// A Hugging Face kernel contains its own claim.
std::optional<fs::path> find_claim_file(const GateArguments& options) {
  const fs::path own = options.request.artifact / "metadata.json";
  std::error_code error;
  if (options.claim_file || !options.claim.empty() || !fs::is_regular_file(own, error)) return options.claim_file;
  return own;
}

Result<Claim> read_claim(const GateArguments& options) {
  const auto file = find_claim_file(options);
  if (!file) return parse_claim(options.claim);
  PBPROBE_TRY(const std::string text, read_whole_file(*file, kMaxClaimBytes), "--claim-file");
  PBPROBE_TRY(Claim claim, parse_claim_file(text, *file), "--claim-file");
  if (options.claim.empty()) return claim;
  PBPROBE_TRY(const Claim whole, parse_claim(options.claim));
  return join_claims(whole, std::move(claim));
}

Result<int> run_on_artifact(const GateArguments& options) {
  GateRequest request = options.request;
  if (request.artifact.empty()) return usage("name the artifact: pbprobe gate ARTIFACT --claim VARIANT");
  if (options.claim.empty() && !find_claim_file(options))
    return usage("name the claim: --claim VARIANT, or --claim-file FILE");
  PBPROBE_TRY(request.claim, read_claim(options));
  if (options.required) request.require = options.require;
  if (!options.emulation.cpu.empty()) request.emulation = options.emulation;
  request.progress = show_progress;
  PBPROBE_CHECK(check_wanted(options));
  PBPROBE_TRY(Report report, make_gate(request));
  clear_progress();
  if (options.redact) report = redact(std::move(report));
  return print_and_attest(report, options);
}

Result<int> run_on_evidence(const GateArguments& options) {
  show_progress("reading evidence");
  if (options.from) {
    const auto read = read_evidence(*options.from, options.trusted);
    clear_progress();
    return print_again(read, options);
  }
  PBPROBE_CHECK(check_wanted(options));
  const auto require = options.required ? std::optional(options.require) : std::nullopt;
  TrustedKeys trusted = options.trusted;
  if (options.key) trusted.push_back(*options.key);  // a report signed by this key may be signed again
  const auto joined = join_evidence(options.join, require, trusted);
  clear_progress();
  return joined ? print_and_attest(*joined, options) : print_recomputed(joined, options);
}

Result<int> run(const GateArguments& options) {
  PBPROBE_CHECK(check_outputs(options.output, options.documents, options.request.artifact));
  const bool again = options.from || !options.join.empty();
  if (!again && !options.trusted.empty()) return usage("--key needs --from or --join");
  if (!again) return run_on_artifact(options);
  if (!options.request.artifact.empty() || !options.claim.empty() || options.claim_file)
    return usage("--from and --join use the artifact and claim of the evidence: remove ARTIFACT and --claim");
  return run_on_evidence(options);
}

void add_what(CLI::App& command, GateArguments& options) {
  command.add_option("ARTIFACT", options.request.artifact,
                     "Build to judge, as for `pbprobe audit`; or a report, which is judged by its facts");
  command.add_option("--claim", options.claim,
                     "Claim of the build: a variant name, or a list such as sm90,avx512,cuda=13.0,only");
  command.add_option("--claim-file", options.claim_file,
                     "File with the claim of each library of a package, and libraries to ignore (docs/gate.md); or "
                     "metadata.json of a Hugging Face kernel");
  add_choice<Level>(command, "--require", options.require,
                    {{"shipped", Level::shipped},
                     {"loaded", Level::loaded},
                     {"executed", Level::executed},
                     {"measured", Level::measured}},
                    "Level up to which this machine must prove SMs and ISAs; replaces the policy's level");
  command.add_option("--policy", options.request.policy,
                     "builder, hardware, or a file (docs/policy.schema.json) whose name has a slash or ends in .json; "
                     "default: builder, or hardware if --require exceeds shipped");
  command.add_option(
      "--baseline", options.request.baseline,
      "Generic libtorch to compare size and, with --require measured, speed; default: the torch that is found");
  command.add_flag("--operators", options.request.operators,
                   "Also compare torch's operators with double precision on this machine (needs --require executed)");
  command.add_option("--reference", options.request.reference,
                     "Table of reference builds that replaces recipes/reference_builds.json");
}

void add_evidence(CLI::App& command, GateArguments& options) {
  auto* evidence = command.add_option("--evidence", options.evidence,
                                      "Write report, JUnit, SARIF and statement into this new folder");
  auto* sign = command
                   .add_option("--sign", options.key,
                               "Sign the statement with this key (PEM; Ed25519, or ECDSA P-256 as in cosign); "
                               "PBPROBE_KEY_PASSWORD opens an encrypted key")
                   ->needs(evidence);
  command
      .add_option("--signer", options.signer,
                  "Shell command of a program that holds the key: gets the path of the data as last argument, and "
                  "prints the signature; --sign is then the public key")
      ->needs(sign);
  auto* from =
      command.add_option("--from", options.from, "Judge the report of an evidence folder again")->excludes(evidence);
  command.add_option("--join", options.join, "Join reports or evidence folders of gates on several machines")
      ->excludes(from);
  command
      .add_option(
          "--key", options.trusted,
          "Public key (PEM) that must have signed the evidence of --from and --join; repeat for several accepted keys")
      ->allow_extra_args(false);
  command.add_flag("--redact", options.redact, "Leave out host names, serial numbers and home folders");
  command.add_flag("--explain", options.explain, "List each check with its state, and whether it is required");
  add_format_and_output(command, options.format, options.output);
  add_documents(command, options.documents);
}

void add_emulation(CLI::App& command, GateArguments& options) {
  command.add_option("--budget", options.request.budget_seconds, "Time limit for runs on the machine, in seconds")
      ->check(number_between(kMinSeconds, kMaxSeconds));
  command.add_flag_callback(
      "--no-emulated-run", [&options] { options.request.emulated_loads = false; },
      "Do not load libtorch on an emulated CPU of each claimed CPU row");
  command.add_flag_callback(
      "--no-import", [&options] { options.request.imports = false; },
      "Do not import an installed torch with the Python of its environment, or of its version on PATH");
  auto* emulate = command.add_option("--emulate", options.emulation.cpu,
                                     "Start libtorch on this QEMU CPU instead, as for `pbprobe report`");
  command.add_option("--program", options.emulation.program, "pbprobe built for the emulated platform")->needs(emulate);
  command.add_option("--sysroot", options.emulation.sysroot, "Folder of the emulated platform's libc")->needs(emulate);
}

}  // namespace

void add_gate(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "gate",
      "Pass only if every check that the policy requires was made and passed\n"
      "Examples:\n"
      "  pbprobe gate result-NAME --claim pytorch-python313-cuda13_0-sm121-armv9\n"
      "  pbprobe gate torch.whl --claim sm90,avx512,cuda=13.0 --explain\n"
      "  pbprobe gate .venv --claim sm90,avx512,cuda=13.0 --require executed --evidence DIR --sign KEY\n"
      "  pbprobe gate result-NAME --claim VARIANT --require measured --baseline .venv\n"
      "  pbprobe gate vllm.whl --claim sm90,cuda=13.0 --claim-file vllm.claims\n"
      "  pbprobe gate .venv --claim sm90 --format html --output gate.html\n"
      "  pbprobe gate --from DIR --key PUB\n"
      "  pbprobe gate --join shipped executed --key PUB --evidence DIR --sign KEY\n"
      "Exit code: 0 pass, 1 fail or unknown, 2 could not run");
  static GateArguments options;
  add_what(*command, options);
  add_evidence(*command, options);
  add_emulation(*command, options);
  set_run(*command, exit_code, [command] {
    options.required = command->get_option("--require")->count() > 0;
    return run(options);
  });
}

}  // namespace pbprobe::cli
