// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/evidence.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/facts/json.hpp"
#include "core/sha256.hpp"
#include "probes/evidence/dsse.hpp"
#include "probes/evidence/folder.hpp"
#include "probes/evidence/store_path.hpp"
#include "probes/judge/gate.hpp"
#include "probes/judge/join.hpp"
#include "probes/judge/judge.hpp"
#include "probes/pipeline/pipeline.hpp"
#include "probes/report/attest.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

std::string text_of(const Report& report) {
  return dump_json(to_json(report)) + "\n";
}

// The outputs of a build in Nix's store that this report read: those named alike, and that which libtorch lies in.
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

Result<void> check_attestable(const Report& report) {
  if (!report.gate->complete)
    return make_error(ErrorCode::unsupported, "no evidence was written: the run is not complete: {}",
                      report.gate->reason);
  const auto& files = report.inventory->files;
  const bool whole = std::all_of(files.begin(), files.end(),
                                 [](const File& file) { return !file.machine || file.sha256.has_value(); });
  if (!whole || subjects_of(report).empty())
    return make_error(ErrorCode::unsupported,
                      "no evidence was written: the facts hold no digest of each shared object: gate the artifact "
                      "itself");
  return {};
}

// Facts in, the same decision out, or the report was changed after it was written.
Result<void> judge_again(const Report& report, const std::string& name) {
  if (!report.gate || !report.verdict)
    return make_error(ErrorCode::malformed, "{}: it holds no gate: `pbprobe gate --evidence` writes one", name);
  const Verdict verdict = judge(report);
  const Gate gate =
      pass_gate(report, {.policy = report.gate->policy, .require = report.gate->require, .date = report.gate->date});
  if (to_json(verdict) != to_json(*report.verdict))
    return make_error(ErrorCode::malformed, "{}: its verdict is not what its facts give ({})", name, verdict.reason);
  if (to_json(gate) != to_json(*report.gate))
    return make_error(ErrorCode::malformed, "{}: its gate is not what its facts give ({})", name, gate.reason);
  return {};
}

std::map<std::string, std::string> digests_of(const Report& report) {
  std::map<std::string, std::string> digests;
  for (const auto& subject : subjects_of(report)) digests[subject.name] = subject.digest.at("sha256");
  return digests;
}

Result<void> check_same_build(const Report& one, const Report& other, const std::string& name) {
  if (to_json(*one.claim) != to_json(*other.claim))
    return make_error(ErrorCode::malformed, "{}: its claim is \"{}\", and the first one's is \"{}\"", name,
                      other.claim->text, one.claim->text);
  const auto ours = digests_of(one);
  const auto theirs = digests_of(other);
  if (ours.empty()) return make_error(ErrorCode::malformed, "the first report holds no digests of what it judged");
  if (ours == theirs) return {};
  for (const auto& [path, digest] : ours) {
    const auto same = theirs.find(path);
    if (same == theirs.end()) return make_error(ErrorCode::malformed, "{}: it knows no {}", name, path);
    if (same->second != digest)
      return make_error(ErrorCode::malformed, "{}: its {} is another file: {} against {}", name, path, same->second,
                        digest);
  }
  return make_error(ErrorCode::malformed, "{}: it holds shared objects that the first one does not know", name);
}

GatedRun run_of(Report report) {
  return {.version = std::move(report.version),
          .commit = std::move(report.commit),
          .created = std::move(report.created),
          .host = std::move(report.host),
          .inventory = std::move(report.inventory),
          .measurements = std::move(report.measurements),
          .baseline = std::move(report.baseline),
          .verdict = std::move(*report.verdict),
          .gate = std::move(*report.gate),
          .problems = std::move(report.problems)};
}

Report report_of(const GatedRun& run, const Claim& claim) {
  return {.version = run.version,
          .commit = run.commit,
          .created = run.created,
          .host = run.host,
          .claim = claim,
          .inventory = run.inventory,
          .measurements = run.measurements,
          .baseline = run.baseline,
          .verdict = run.verdict,
          .gate = run.gate,
          .joined = std::nullopt,
          .problems = run.problems};
}

// Each run is judged again, and so is what they prove together.
Result<Report> joined_from(std::vector<GatedRun> runs, const Claim& claim, std::optional<Level> require,
                           const std::string& name) {
  std::vector<Gate> gates;
  const Report first = report_of(runs.front(), claim);
  for (const auto& run : runs) {
    const Report report = report_of(run, claim);
    const std::string which = fmt::format("{}: run {}", name, gates.size() + 1);
    PBPROBE_CHECK(judge_again(report, which));
    PBPROBE_CHECK(check_same_build(first, report, which));
    gates.push_back(run.gate);
  }
  Report joined = new_report();
  joined.claim = claim;
  joined.inventory = runs.front().inventory;
  joined.gate = join_gates(gates, require);
  joined.joined = std::move(runs);
  return joined;
}

Result<void> join_again(const Report& report, const std::string& name) {
  if (!report.gate || !report.claim || report.joined->size() < 2)
    return make_error(ErrorCode::malformed, "{}: it holds no gate of two runs: `pbprobe gate --join` writes one", name);
  PBPROBE_TRY(Report again, joined_from(*report.joined, *report.claim, report.gate->require, name));
  again.version = report.version;
  again.commit = report.commit;
  again.created = report.created;
  if (to_json(again) != to_json(report))
    return make_error(ErrorCode::malformed, "{}: it is not what its {} runs give together ({})", name,
                      report.joined->size(), again.gate->reason);
  return {};
}

Result<Report> load_gated(const fs::path& file) {
  PBPROBE_TRY(auto document, load_report(file));
  if (!document)
    return make_error(ErrorCode::not_found, "{}: a report that `pbprobe gate` wrote is expected", file.string());
  if (document->joined) {
    PBPROBE_CHECK(join_again(*document, file.string()));
  } else {
    PBPROBE_CHECK(judge_again(*document, file.string()));
  }
  return std::move(*document);
}

}  // namespace

Result<void> check_evidence(const EvidenceRequest& request) {
  PBPROBE_CHECK(check_new_folder(request.folder));
  if (request.key) PBPROBE_CHECK(check_signing_key(*request.key));
  return {};
}

Result<void> write_evidence(const Report& report, const EvidenceRequest& request) {
  PBPROBE_CHECK(check_attestable(report));
  EvidenceFiles files{{kReportFile, text_of(report)}, {kJunitFile, junit_of(report)}, {kSarifFile, sarif_of(report)}};
  std::map<std::string, std::string> digests;
  for (const auto& [name, text] : files) digests[name] = sha256_of(std::string_view(text));
  std::vector<StatementSubject> subjects = subjects_of(report);
  PBPROBE_TRY(const auto outputs, store_subjects(*report.inventory));
  subjects.insert(subjects.end(), outputs.begin(), outputs.end());
  const std::string statement = statement_of(report, subjects, digests);
  if (request.key) {
    PBPROBE_TRY(files[kEnvelopeFile], sign_envelope(statement, *request.key));
  }
  files[kStatementFile] = statement;
  return write_folder(request.folder, files);
}

Result<Report> read_evidence(const fs::path& folder) {
  PBPROBE_TRY(const EvidenceFiles files, read_folder(folder));
  PBPROBE_CHECK(check_digests(files), "{}", folder.string());
  return load_gated(folder / kReportFile);
}

Result<Report> join_evidence(const std::vector<fs::path>& inputs, std::optional<Level> require) {
  if (inputs.size() < 2)
    return make_error(ErrorCode::usage, "--join: give the reports of two machines or more: shipped.json executed.json");
  std::optional<Report> first;
  std::vector<GatedRun> runs;
  for (const auto& input : inputs) {
    std::error_code error;
    PBPROBE_TRY(Report report, fs::is_directory(input, error) ? read_evidence(input) : load_gated(input));
    if (!report.claim) return make_error(ErrorCode::malformed, "{}: it holds no claim", input.string());
    if (!first) first = report;
    PBPROBE_CHECK(check_same_build(*first, report, input.string()));
    if (report.joined) {
      runs.insert(runs.end(), report.joined->begin(), report.joined->end());
    } else {
      runs.push_back(run_of(std::move(report)));
    }
  }
  return joined_from(std::move(runs), *first->claim, require, "--join");
}

Result<void> verify_evidence(const fs::path& folder, const fs::path& public_key) {
  return verify_folder(folder, public_key);
}

}  // namespace pbprobe
