// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/evidence.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/facts/json.hpp"
#include "core/sha256.hpp"
#include "probes/audit/audit.hpp"
#include "probes/evidence/dsse.hpp"
#include "probes/evidence/folder.hpp"
#include "probes/judge/evidence/decision.hpp"
#include "probes/judge/evidence/join.hpp"
#include "probes/pipeline/pipeline.hpp"
#include "probes/report/attest.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

std::string render_report_json(const Report& report) {
  return dump_json(to_json(report)) + "\n";
}

// Returns the Nix store outputs that this report covers: outputs of the same name, and the output that contains
// libtorch.
std::set<std::string> store_outputs(const Inventory& inventory) {
  if (!inventory.store_closure) return {};
  const auto& closure = *inventory.store_closure;
  std::set<std::string> outputs(closure.outputs.begin(), closure.outputs.end());
  std::error_code error;
  const std::string libtorch = fs::canonical(inventory.libtorch_dir.value_or(""), error).string();
  for (const auto& entry : closure.paths) {
    if (libtorch.starts_with(entry.path + "/")) outputs.insert(entry.path);
  }
  return outputs;
}

Result<std::vector<StatementSubject>> store_subjects(const Inventory& inventory) {
  std::vector<StatementSubject> list;
  for (const auto& path : store_outputs(inventory)) {
    PBPROBE_TRY(const NarHash hash, read_nar_hash(path));
    list.push_back({.name = path, .digest = {{"narSha256", hash.hex}}, .annotations = {{"narHash", hash.nix}}});
  }
  return list;
}

bool all_read_from_files(const Report& report) {
  if (!report.joined) return report.input == InputKind::artifact;
  return std::all_of(report.joined->begin(), report.joined->end(),
                     [](const GatedRun& run) { return run.input == InputKind::artifact; });
}

// A signer of joined runs answers for each of them: requires every run to be signed.
Result<void> check_signable(const Report& report) {
  size_t number = 0;
  for (const auto& run : report.joined.value_or(std::vector<GatedRun>())) {
    number += 1;
    if (!run.signed_by)
      return make_error(ErrorCode::unsupported,
                        "no evidence was written: run {} has no trusted signature: --sign needs evidence signed by "
                        "this key, or by a key given with --key",
                        number);
  }
  return {};
}

Result<void> check_attestable(const Report& report) {
  if (!report.verdict->complete)
    return make_error(ErrorCode::unsupported, "no evidence was written: the run is not complete: {}",
                      report.verdict->reason);
  if (!all_read_from_files(report))
    return make_error(
        ErrorCode::unsupported,
        "no evidence was written: the facts are from a document, not from files: gate the artifact itself");
  const auto& files = report.inventory->files;
  const bool whole =
      std::ranges::all_of(files, [](const File& file) { return file.problem || file.sha256.has_value(); });
  if (!whole || list_subjects(report).empty())
    return make_error(ErrorCode::unsupported,
                      "no evidence was written: digests of shared objects are missing: gate the artifact itself");
  return {};
}

std::map<std::string, std::string> list_digests(const Report& report) {
  std::map<std::string, std::string> digests;
  for (const auto& subject : list_subjects(report)) digests[subject.name] = subject.digest.at("sha256");
  return digests;
}

Result<void> check_same_build(const Report& one, const Report& other, const std::string& name) {
  if (to_json(*one.claim) != to_json(*other.claim))
    return make_error(ErrorCode::malformed, "{}: the claim is \"{}\", but \"{}\" in the first report", name,
                      other.claim->text, one.claim->text);
  const auto ours = list_digests(one);
  const auto theirs = list_digests(other);
  if (ours.empty()) return make_error(ErrorCode::malformed, "the first report has no digests of shared objects");
  if (ours == theirs) return {};
  for (const auto& [path, digest] : ours) {
    const auto same = theirs.find(path);
    if (same == theirs.end()) return make_error(ErrorCode::malformed, "{}: {} is missing", name, path);
    if (same->second != digest)
      return make_error(
          ErrorCode::malformed,
          "{}: not the build of the first report: {} has SHA-256 {}, and {} there: join gates of one build", name, path,
          same->second, digest);
  }
  return make_error(ErrorCode::malformed, "{}: has shared objects that the first report lacks", name);
}

GatedRun make_run(Report report) {
  return {.version = std::move(report.version),
          .commit = std::move(report.commit),
          .created = std::move(report.created),
          .input = report.input,
          .host = std::move(report.host),
          .inventory = std::move(report.inventory),
          .measurements = std::move(report.measurements),
          .baseline = std::move(report.baseline),
          .reference = std::move(report.reference),
          .emulated_loads = std::move(report.emulated_loads),
          .verdict = std::move(*report.verdict),
          .problems = std::move(report.problems)};
}

Report make_run_report(const GatedRun& run, const Claim& claim) {
  return {.version = run.version,
          .commit = run.commit,
          .created = run.created,
          .input = run.input,
          .host = run.host,
          .claim = claim,
          .inventory = run.inventory,
          .measurements = run.measurements,
          .baseline = run.baseline,
          .reference = run.reference,
          .emulated_loads = run.emulated_loads,
          .verdict = run.verdict,
          .problems = run.problems};
}

// Joins runs: judges each run again, and the combined facts.
struct Joined {
  Report report;
  std::vector<Objection> later;
};

Result<Joined> join_runs(std::vector<GatedRun> runs, const Claim& claim, std::optional<Level> require,
                         const std::string& name) {
  Joined joined{.report = new_report()};
  std::vector<Verdict> verdicts;
  const Report first = make_run_report(runs.front(), claim);
  for (auto& run : runs) {
    const Report report = make_run_report(run, claim);
    const std::string which = fmt::format("{}: run {}", name, verdicts.size() + 1);
    PBPROBE_TRY(Rejudgment again, judge_again(report), "{}", which);
    PBPROBE_CHECK(check_same_build(first, report, which));
    run.verdict = again.verdict;
    verdicts.push_back(std::move(again.verdict));
    joined.later.insert(joined.later.end(), again.later.begin(), again.later.end());
  }
  joined.report.claim = claim;
  joined.report.inventory = runs.front().inventory;
  joined.report.verdict = join_verdicts(verdicts, require);
  joined.report.joined = std::move(runs);
  return joined;
}

Result<Rejudgment> join_again(const Report& report, const std::string& name) {
  if (!report.verdict || !report.claim || report.joined->size() < 2)
    return make_error(ErrorCode::malformed,
                      "{}: the report has no verdict of joined runs: `pbprobe gate --join` writes one", name);
  PBPROBE_TRY(Joined again, join_runs(*report.joined, *report.claim, report.verdict->require, name));
  std::optional<std::string> where = first_difference(*report.verdict, *again.report.verdict);
  if (!where && to_json(*again.report.inventory) != to_json(report.inventory.value_or(Inventory{})))
    where = "inventory";
  if (where)
    return make_error(ErrorCode::malformed, "{}: {} differs from the result of joining its {} runs again ({})", name,
                      *where, report.joined->size(), again.report.verdict->reason);
  return Rejudgment{.verdict = std::move(*again.report.verdict), .later = std::move(again.later)};
}

// Report of `pbprobe gate` with a recomputed verdict; `later` has objections of newer checks.
struct Gated {
  Report report;
  std::vector<Objection> later;
};

Result<Gated> load_gated(const fs::path& file) {
  PBPROBE_TRY(auto document, load_report(file));
  if (!document) return make_error(ErrorCode::not_found, "{}: expected a report from `pbprobe gate`", file.string());
  Gated gated{.report = std::move(*document)};
  Rejudgment again;
  if (gated.report.joined) {
    PBPROBE_TRY(again, join_again(gated.report, file.string()));
  } else {
    PBPROBE_TRY(again, judge_again(gated.report), "{}", file.string());
  }
  gated.report.verdict = std::move(again.verdict);
  gated.later = std::move(again.later);
  return gated;
}

// Evidence folder, or a bare report, which has no signature.
struct Loaded {
  Gated gated;
  Signature signature;
};

Result<Loaded> load_evidence(const fs::path& folder, const TrustedKeys& keys) {
  PBPROBE_TRY(const EvidenceFiles files, read_folder(folder));
  PBPROBE_TRY(Signature signature, check_files(files, keys), "{}", folder.string());
  if (!keys.empty() && !signature.trusted)
    return make_error(ErrorCode::malformed, "{}: {} is missing: the evidence is not signed", folder.string(),
                      kEnvelopeFile);
  PBPROBE_TRY(Gated gated, load_gated(folder / kReportFile));
  return Loaded{.gated = std::move(gated), .signature = std::move(signature)};
}

Result<Loaded> load_either(const fs::path& input, const TrustedKeys& keys) {
  std::error_code error;
  if (fs::is_directory(input, error)) return load_evidence(input, keys);
  if (!keys.empty())
    return make_error(ErrorCode::malformed, "{}: a bare report has no signature: give its evidence folder",
                      input.string());
  PBPROBE_TRY(Gated gated, load_gated(input));
  return Loaded{.gated = std::move(gated), .signature = {}};
}

// Computes the digests of the artifact's current files, named as in the statement.
Result<StatedSubjects> subjects_there(const StatedSubjects& stated, const fs::path& artifact) {
  Report report = new_report();
  PBPROBE_TRY(report.inventory, audit(artifact, {.digests = true}));
  for (const auto& file : report.inventory->files) {
    if (file.problem && !file.sha256) return make_error(ErrorCode::malformed, "{}: {}", file.path, *file.problem);
  }
  StatedSubjects there;
  for (const auto& subject : list_subjects(report)) there[subject.name] = subject.digest;
  for (const auto& [name, digests] : stated) {
    if (!digests.contains("narSha256")) continue;
    PBPROBE_TRY(const NarHash hash, read_nar_hash(name));
    there[name] = {{"narSha256", hash.hex}};
  }
  return there;
}

Result<void> check_artifact(const StatedSubjects& stated, const fs::path& artifact) {
  PBPROBE_TRY(const StatedSubjects there, subjects_there(stated, artifact));
  std::vector<std::string> faults;
  for (const auto& [name, digests] : stated) {
    const auto same = there.find(name);
    if (same == there.end()) {
      faults.push_back(name + " is missing");
    } else if (same->second != digests) {
      faults.push_back(name + " differs");
    }
  }
  for (const auto& [name, digests] : there) {
    if (!stated.contains(name)) faults.push_back(name + " was not judged");
  }
  if (faults.empty()) return {};
  constexpr size_t kMaxReported = 10;
  const size_t more = faults.size() - std::min(faults.size(), kMaxReported);
  faults.resize(std::min(faults.size(), kMaxReported));
  return make_error(ErrorCode::malformed, "{} differs from the signed artifact: {}{}", artifact.string(),
                    fmt::join(faults, "; "), more > 0 ? fmt::format("; and {} more", more) : "");
}

}  // namespace

Result<void> check_evidence(const EvidenceRequest& request) {
  PBPROBE_CHECK(check_new_folder(request.folder));
  if (request.key) PBPROBE_CHECK(check_signer({.key = *request.key, .command = request.signer}));
  return {};
}

Result<void> write_evidence(const Report& report, const EvidenceRequest& request) {
  PBPROBE_CHECK(check_attestable(report));
  if (request.key) PBPROBE_CHECK(check_signable(report));
  EvidenceFiles files{{kReportFile, render_report_json(report)},
                      {kJunitFile, render_junit(report)},
                      {kSarifFile, render_sarif(report)}};
  std::map<std::string, std::string> digests;
  for (const auto& [name, text] : files) digests[name] = compute_sha256(std::string_view(text));
  std::vector<StatementSubject> subjects = list_subjects(report);
  PBPROBE_TRY(const auto outputs, store_subjects(*report.inventory));
  subjects.insert(subjects.end(), outputs.begin(), outputs.end());
  const std::string statement = render_statement(report, subjects, digests);
  if (request.key) {
    PBPROBE_TRY(files[kEnvelopeFile], sign_envelope(statement, {.key = *request.key, .command = request.signer}));
    PBPROBE_TRY(files[kBundleFile], sigstore_bundle(files[kEnvelopeFile]));
  }
  files[kStatementFile] = statement;
  return write_folder(request.folder, files);
}

Result<ReadEvidence> read_evidence(const fs::path& folder, const TrustedKeys& keys) {
  PBPROBE_TRY(Loaded loaded, load_evidence(folder, keys));
  add_later(loaded.gated.later, *loaded.gated.report.verdict);
  return ReadEvidence{
      .report = std::move(loaded.gated.report), .key = loaded.signature.key, .trusted = loaded.signature.trusted};
}

Result<Report> join_evidence(const std::vector<fs::path>& inputs, std::optional<Level> require,
                             const TrustedKeys& keys) {
  if (inputs.size() < 2)
    return make_error(ErrorCode::usage, "--join: give the reports of two machines or more: shipped.json executed.json");
  std::optional<Report> first;
  std::vector<GatedRun> runs;
  for (const auto& input : inputs) {
    PBPROBE_TRY(Loaded loaded, load_either(input, keys));
    auto& [gated, signature] = loaded;
    Report& report = gated.report;
    if (!report.claim) return make_error(ErrorCode::malformed, "{}: no claim", input.string());
    if (!gated.later.empty())
      return make_error(ErrorCode::malformed, "{}: a newer check finds {}: {}: gate the build again", input.string(),
                        gated.later.front().id, gated.later.front().what);
    if (!first) first = report;
    PBPROBE_CHECK(check_same_build(*first, report, input.string()));
    const bool joined = report.joined.has_value();
    auto more = joined ? std::move(*report.joined) : std::vector<GatedRun>();
    if (!joined) more.push_back(make_run(std::move(report)));
    // A signed join is responsible for its runs as it found them; an unsigned join is responsible for none.
    for (auto& run : more) {
      if (!signature.trusted) run.signed_by.reset();
      if (signature.trusted && !joined) run.signed_by = signature.key;
    }
    std::move(more.begin(), more.end(), std::back_inserter(runs));
  }
  PBPROBE_TRY(Joined joined, join_runs(std::move(runs), *first->claim, require, "--join"));
  return std::move(joined.report);
}

Result<void> verify_evidence(const fs::path& folder, const TrustedKeys& keys, const std::optional<fs::path>& artifact) {
  PBPROBE_TRY(const EvidenceFiles files, read_folder(folder));
  if (!files.contains(kEnvelopeFile))
    return make_error(ErrorCode::malformed, "{}: {} is missing: the evidence is not signed (pbprobe gate --sign KEY)",
                      folder.string(), kEnvelopeFile);
  PBPROBE_TRY(const Signature signature, check_files(files, keys));
  if (!artifact) return {};
  PBPROBE_TRY(const StatedSubjects stated, read_subjects(files));
  return check_artifact(stated, *artifact);
}

}  // namespace pbprobe
