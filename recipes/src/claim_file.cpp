// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/claim_file.hpp"

#include <regex>
#include <sstream>

#include <fmt/format.h>

#include "core/json_keys.hpp"
#include "core/sm.hpp"
#include "core/targets.hpp"
#include "recipes/src/claim.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kBlank = " \t\r";
constexpr std::string_view kEveryFile = "*";

struct ClaimOfFiles {
  std::string files;
  std::string claim;
};

struct ClaimDocument {
  std::optional<std::string> claim;
  std::optional<std::vector<ClaimOfFiles>> files;
  std::optional<std::vector<IgnoredFiles>> ignore;
};

template <class Visitor, SameAs<ClaimOfFiles> T>
void fields(Visitor& visit, T& claim) {
  visit("files", claim.files, "pattern of paths, or of file names if it has no slash: vllm/_moe_C*.so");
  visit("claim", claim.claim, "required contents of each matching file: sm90,sm120,cuda=13.0");
}

template <class Visitor, SameAs<ClaimDocument> T>
void fields(Visitor& visit, T& document) {
  visit.constant("schema", "pbprobe.claims/1");
  visit("claim", document.claim, "claim for all files without a matching pattern, in the syntax of --claim");
  visit("files", document.files, "claims for files; the last matching pattern counts");
  visit("ignore", document.ignore, "files of which nothing is claimed");
}

std::string_view stripped(std::string_view text) {
  const auto first = text.find_first_not_of(kBlank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Converts "sm90" of the target table to "sm_90", and keeps "sm_90a" in the form of compilers.
std::optional<Sm> machine_code(std::string_view word) {
  const Target* target = find_target(word);
  if (target != nullptr) return target->capability ? parse_sm(*target->capability) : std::nullopt;
  if (word.starts_with("sm") && !word.starts_with("sm_")) word.remove_prefix(2);
  return word.starts_with("compute_") ? std::nullopt : parse_sm(word);
}

Result<void> take_word(std::string_view word, FileClaim& claim, std::string& versions) {
  if (word.find('=') != word.npos) {
    versions += (versions.empty() ? "" : ",") + std::string(word);
  } else if (const auto ptx = word.starts_with("compute_") ? parse_sm(word) : std::nullopt) {
    claim.ptx.push_back(compute_name(*ptx));
  } else if (const auto sm = machine_code(word)) {
    claim.sms.push_back(sm_name(*sm));
  } else {
    return make_error(ErrorCode::malformed,
                      "\"{}\" is nothing to claim of single files: write an SM as sm90 or sm_90a, PTX as compute_90, "
                      "cuda=13.0, torch=2.11 or python=3.13",
                      word);
  }
  return {};
}

Result<FileClaim> claim_of_files(std::string_view files, std::string_view words) {
  FileClaim claim{.files = std::string(files)};
  if (files.empty()) return make_error(ErrorCode::malformed, "the pattern of files is empty");
  std::string versions;
  for (size_t at = 0; at <= words.size();) {
    const size_t end = std::min(words.find(',', at), words.size());
    PBPROBE_CHECK(take_word(stripped(words.substr(at, end - at)), claim, versions));
    at = end + 1;
  }
  if (versions.empty()) return claim;
  auto read = parse_claim(versions);
  if (!read) return Error{ErrorCode::malformed, read.error().message};
  if (read->blas) return make_error(ErrorCode::malformed, "blas= is claimed of a whole build, not of single files");
  claim.cuda = read->cuda;
  claim.torch = read->torch;
  claim.python = read->python;
  return claim;
}

Result<void> take_whole(std::string_view words, bool& known, Claim& claim) {
  if (known) return make_error(ErrorCode::malformed, "the whole is claimed twice: leave one");
  known = true;
  auto whole = parse_claim(words);
  if (!whole) return Error{ErrorCode::malformed, whole.error().message};
  whole->files = std::move(claim.files);
  whole->ignored = std::move(claim.ignored);
  claim = std::move(*whole);
  return {};
}

Result<void> take_ignored(std::string_view files, std::string_view reason, Claim& claim) {
  if (files.empty()) return make_error(ErrorCode::malformed, "the pattern of files to ignore is empty");
  if (stripped(reason).empty()) return make_error(ErrorCode::malformed, "say why {} is ignored", files);
  claim.ignored->push_back({std::string(files), std::string(stripped(reason))});
  return {};
}

Result<void> take_line(std::string_view line, bool& whole_known, Claim& claim) {
  const size_t end_of_word = std::min(line.find_first_of(kBlank), line.size());
  const std::string_view word = line.substr(0, end_of_word);
  const std::string_view rest = stripped(line.substr(end_of_word));
  const size_t end_of_files = std::min(rest.find_first_of(kBlank), rest.size());
  const std::string_view files = rest.substr(0, end_of_files);
  const std::string_view last = stripped(rest.substr(end_of_files));
  if (word == "claim") return take_whole(rest, whole_known, claim);
  if (word == "ignore") return take_ignored(files, last, claim);
  if (word != "files")
    return make_error(ErrorCode::malformed,
                      "\"{}\": a line begins with claim, files or ignore: files vllm/_moe_C*.so sm90,sm120", word);
  PBPROBE_TRY(auto one, claim_of_files(files, last));
  claim.files->push_back(std::move(one));
  return {};
}

Result<Claim> parse_lines(std::string_view text) {
  Claim claim;
  claim.files.emplace();
  claim.ignored.emplace();
  bool whole_known = false;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = stripped(text.substr(at, end - at));
    at = end + 1;
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    PBPROBE_CHECK(take_line(line, whole_known, claim), "line {}", number);
  }
  return claim;
}

Result<Claim> parse_document(const Json& json) {
  PBPROBE_TRY(const auto document, from_json<ClaimDocument>(json));
  if (const auto key = unknown_key(json, to_json(document)))
    return make_error(ErrorCode::malformed, "{}: a claim file has no such key: docs/claims.schema.json lists them",
                      *key);
  Claim claim;
  claim.files.emplace();
  claim.ignored.emplace();
  for (const auto& [files, words] : document.files.value_or(std::vector<ClaimOfFiles>())) {
    PBPROBE_TRY(auto one, claim_of_files(files, words), "files: {}", files);
    claim.files->push_back(std::move(one));
  }
  for (const auto& [files, reason] : document.ignore.value_or(std::vector<IgnoredFiles>()))
    PBPROBE_CHECK(take_ignored(files, reason, claim), "ignore");
  bool whole_known = false;
  if (document.claim) PBPROBE_CHECK(take_whole(*document.claim, whole_known, claim), "claim");
  return claim;
}

// Parses torch and CUDA from the folder name of a kernel build: "torch29-cxx11-cu128-x86_64-linux".
void take_folder(const std::string& folder, FileClaim& claim) {
  static const std::regex build("torch([0-9])([0-9]+)(-[a-z0-9]+)*-cu([0-9]{2})([0-9]).*");
  std::smatch found;
  if (!std::regex_match(folder, found, build)) return;
  claim.torch = fmt::format("{}.{}", found[1].str(), found[2].str());
  claim.cuda = fmt::format("{}.{}", found[4].str(), found[5].str());
}

Result<Claim> parse_kernel_metadata(const Json& backend, const std::filesystem::path& path) {
  if (backend.value("type", "") != "cuda")
    return make_error(ErrorCode::malformed, "backend.type: \"{}\": only cuda's archs are SMs",
                      backend.value("type", ""));
  FileClaim every{.files = std::string(kEveryFile)};
  for (const auto& arch : backend.value("archs", Json::array())) {
    constexpr std::string_view kPtx = "+PTX";
    std::string name = arch.is_string() ? arch.get<std::string>() : arch.dump();
    const bool ptx = name.ends_with(kPtx);
    if (ptx) name.resize(name.size() - kPtx.size());
    const auto sm = parse_sm(name);
    if (!sm) return make_error(ErrorCode::malformed, "backend.archs: \"{}\" is not a capability such as 9.0a", name);
    every.sms.push_back(sm_name(*sm));
    if (ptx) every.ptx.push_back(compute_name(*sm));
  }
  if (every.sms.empty()) return make_error(ErrorCode::malformed, "backend.archs: it names none");
  std::error_code error;
  take_folder(std::filesystem::absolute(path, error).parent_path().filename().string(), every);
  Claim claim;
  claim.files = {std::move(every)};
  claim.ignored.emplace();
  return claim;
}

Result<Claim> parse(std::string_view text, const std::filesystem::path& path) {
  if (!stripped(text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()))).starts_with('{'))
    return parse_lines(text);
  PBPROBE_TRY(const Json json, parse_json(text));
  const auto backend = json.find("backend");
  const bool kernel = !json.contains("schema") && backend != json.end() && backend->is_object();
  try {
    return kernel ? parse_kernel_metadata(*backend, path) : parse_document(json);
  } catch (const Json::exception&) {  // backend.type is not a string
    return make_error(ErrorCode::malformed, "backend: type and archs are not as kernel-builder writes them");
  }
}

}  // namespace

Result<Claim> parse_claim_file(std::string_view text, const std::filesystem::path& path) {
  PBPROBE_TRY(Claim claim, parse(text, path), "{}", path.string());
  const bool whole = !claim.targets.empty() || claim.cuda || claim.torch || claim.python || claim.blas;
  if (!whole && claim.files->empty())
    return make_error(ErrorCode::malformed, "{}: it claims nothing: write a line such as claim sm90,sm120",
                      path.string());
  claim.text = path.filename().string();
  return claim;
}

Result<Claim> join_claims(const Claim& whole, Claim file) {
  const bool both = !file.targets.empty() || file.cuda || file.torch || file.python || file.blas;
  if (both)
    return make_error(ErrorCode::usage, "--claim and {} both say what the whole is to deliver: leave one", file.text);
  Claim claim = whole;
  claim.text = fmt::format("{} and {}", whole.text, file.text);
  claim.files = std::move(file.files);
  claim.ignored = std::move(file.ignored);
  return claim;
}

Json claim_file_schema() {
  Json schema = json_schema<ClaimDocument>();
  allow_no_other_keys(schema);
  return schema;
}

}  // namespace pbprobe
