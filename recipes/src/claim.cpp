// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/claim.hpp"

#include <algorithm>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/pep440.hpp"
#include "core/sm.hpp"
#include "core/strings.hpp"
#include "core/targets.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kExample = "sm90,avx512,cuda=13.0,torch=2.10.0,python=3.13,blas=openblas,only";

Result<void> set_once(std::optional<std::string>& slot, std::string_view key, std::string value) {
  if (slot)
    return make_error(ErrorCode::usage, "the claim gives {}= twice, as {} and as {}: keep one", key, *slot, value);
  slot = std::move(value);
  return {};
}

Result<std::string> version_value(std::string_view key, std::string_view value, int least, int most,
                                  std::string_view example) {
  if (is_version(value, least, most)) return std::string(value);
  return make_error(ErrorCode::usage, "{}={}: give a version, as in {}={}", key, value, key, example);
}

// Parses a release number, including "2.12.0.dev20260101" and "1.13.0a0", without the local part of the build.
Result<std::string> torch_value(std::string_view key, std::string_view value) {
  const auto version = parse_python_version(value);
  const bool named = version && (version->pre || version->post || version->dev) && version->local.empty() &&
                     version->release.size() == 3;
  return named ? std::string(value) : version_value(key, value, 2, 3, "2.10.0");
}

// Accepts "3.13" and "313", "3.13t" for the free-threaded Python, and "pypy3.11", which have other ABIs.
Result<std::string> python_value(std::string_view value) {
  constexpr std::string_view kPypy = "pypy";
  if (const auto number = value.substr(std::min(kPypy.size(), value.size()));
      value.starts_with(kPypy) && number.starts_with('3') && !number.ends_with('t')) {
    PBPROBE_TRY(const std::string version, python_value(number));
    return std::string(kPypy) + version;
  }
  if (value.ends_with('t') && value.size() > 1) {
    PBPROBE_TRY(const std::string with_gil, python_value(value.substr(0, value.size() - 1)));
    return with_gil + "t";
  }
  if (is_version(value, 2, 2)) return std::string(value);
  if (is_version(value, 1, 1) && value.size() >= 2 && value.size() <= 3) return python_version(value);
  return make_error(ErrorCode::usage, "python={}: give a version, as in python=3.13", value);
}

Result<void> read_pair(Claim& claim, std::string_view key, std::string_view value, const Matrix& m) {
  if (key == "cuda") {
    PBPROBE_TRY(auto cuda, version_value(key, value, 2, 3, "13.0"));
    return set_once(claim.cuda, key, std::move(cuda));
  }
  if (key == "torch") {
    PBPROBE_TRY(auto torch, torch_value(key, value));
    return set_once(claim.torch, key, std::move(torch));
  }
  if (key == "python") {
    PBPROBE_TRY(auto python, python_value(value));
    return set_once(claim.python, key, std::move(python));
  }
  if (key == "blas") {
    const auto& choices = m.blas.choices;
    if (std::ranges::find(choices, value) == choices.end())
      return make_error(ErrorCode::usage, "blas={}: choose one of {}", value, fmt::join(choices, ", "));
    return set_once(claim.blas, key, std::string(value));
  }
  return make_error(ErrorCode::usage, "unknown key \"{}\": choose one of cuda, torch, python, blas", key);
}

Result<void> read_word(Claim& claim, std::string_view word, const Matrix& m) {
  if (word.empty()) return make_error(ErrorCode::usage, "a word is missing between two commas: write {}", kExample);
  if (const auto equals = word.find('='); equals != std::string_view::npos)
    return read_pair(claim, trim(word.substr(0, equals)), trim(word.substr(equals + 1)), m);
  if (word == "only") {
    claim.exact = true;
    return {};
  }
  PBPROBE_TRY(const auto* target, require_target(word));
  if (std::find(claim.targets.begin(), claim.targets.end(), target->id) != claim.targets.end())
    return make_error(ErrorCode::usage, "the claim gives {} twice: keep one", target->id);
  claim.targets.push_back(target->id);
  return {};
}

// Rejects impossible claims, because a check of such a claim would always fail and blame the build.
Result<void> check_possible(const Claim& claim) {
  std::vector<const Target*> cpus;
  std::vector<const Target*> gpus;
  for (const auto& id : claim.targets) {
    const auto* target = find_target(id);
    (target->kind == TargetKind::cpu ? cpus : gpus).push_back(target);
  }
  for (const auto* cpu : cpus) {
    if (cpu->architecture != cpus.front()->architecture)
      return make_error(ErrorCode::usage, "{} and {} exclude each other: no build is for both {} and {}: claim one",
                        cpus.front()->id, cpu->id, cpus.front()->architecture, cpu->architecture);
    for (const auto* gpu : gpus) {
      if (common_platforms(*gpu, *cpu).empty())
        return make_error(ErrorCode::usage, "{} with {}: no such machine ({} is found on {} only)", gpu->id, cpu->id,
                          gpu->id, fmt::join(gpu->platforms, " and "));
    }
  }
  for (const auto* gpu : gpus) {
    if (claim.cuda) PBPROBE_CHECK(cuda_builds(*claim.cuda, *gpu));
  }
  if (claim.exact && cpus.size() > 1)
    return make_error(ErrorCode::usage,
                      "only {} and {}: a build has one minimum CPU, so name one ISA, or leave out \"only\"",
                      cpus[0]->id, cpus[1]->id);
  return {};
}

Result<Claim> parse_list(std::string_view text, const Matrix& m) {
  Claim claim;
  claim.text = std::string(text);
  std::string_view rest = text;
  while (true) {
    const auto comma = rest.find(',');
    PBPROBE_CHECK(read_word(claim, trim(rest.substr(0, comma)), m));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (claim.exact && claim.targets.empty())
    return make_error(ErrorCode::usage, "\"only\" without a target: name an SM, an ISA or both, as in {}", kExample);
  PBPROBE_CHECK(check_possible(claim));
  return claim;
}

}  // namespace

Result<Claim> parse_claim(std::string_view text, const Matrix& m) {
  const auto given = trim(text);
  if (given.empty())
    return make_error(ErrorCode::usage, "an empty claim: give a variant's name, or a list such as {}", kExample);
  if (looks_like_variant(given)) {
    PBPROBE_TRY(const auto variant, parse_variant(given, m), "claim");
    auto claim = make_variant_claim(variant, m);
    claim.text = std::string(given);
    return claim;
  }
  PBPROBE_TRY(auto claim, parse_list(given, m), "claim \"{}\"", given);
  return claim;
}

Claim make_variant_claim(const Variant& variant, const Matrix& m) {
  Claim claim{.text = variant_name(variant), .exact = true};
  if (variant.gpu) claim.targets.push_back(*variant.gpu);
  claim.targets.push_back(variant.cpu);
  claim.python = python_version(variant.python);
  claim.blas = m.blas.default_value;
  if (const auto* line = m.find_line(variant.line)) {
    claim.torch = line->torch;
    if (variant.gpu) claim.cuda = line->cuda;
  }
  return claim;
}

namespace {

constexpr std::string_view kBlank = " \t\r";
constexpr std::string_view kEveryFile = "*";

struct ClaimOfFiles {
  FIELD(std::string, files, "pattern of paths, or of file names if it has no slash: vllm/_moe_C*.so");
  FIELD(std::string, claim, "required contents of each matching file: sm90,sm120,cuda=13.0");
};

struct ClaimDocument {
  SCHEMA("pbprobe.claims/1");
  FIELD(std::optional<std::string>, claim, "claim for all files without a matching pattern, in the syntax of --claim");
  FIELD(std::optional<std::vector<ClaimOfFiles>>, files, "claims for files; the last matching pattern counts");
  FIELD(std::optional<std::vector<IgnoredFiles>>, ignore, "files of which nothing is claimed");
};

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
  for (const std::string_view word : split(words, ',')) {
    PBPROBE_CHECK(take_word(trim(word), claim, versions));
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
  if (known) return make_error(ErrorCode::malformed, "the claim file claims the whole artifact twice: leave one");
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
  if (trim(reason).empty()) return make_error(ErrorCode::malformed, "say why {} is ignored", files);
  claim.ignored->push_back({std::string(files), std::string(trim(reason))});
  return {};
}

Result<void> take_line(std::string_view line, bool& whole_known, Claim& claim) {
  const size_t end_of_word = std::min(line.find_first_of(kBlank), line.size());
  const std::string_view word = line.substr(0, end_of_word);
  const std::string_view rest = trim(line.substr(end_of_word));
  const size_t end_of_files = std::min(rest.find_first_of(kBlank), rest.size());
  const std::string_view files = rest.substr(0, end_of_files);
  const std::string_view last = trim(rest.substr(end_of_files));
  if (word == "claim") return take_whole(rest, whole_known, claim);
  if (word == "ignore") return take_ignored(files, last, claim);
  if (word != "files")
    return make_error(
        ErrorCode::malformed,
        "a line begins with \"{}\": write claim, files or ignore, as in: files vllm/_moe_C*.so sm90,sm120", word);
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
  for (std::string_view line : split_lines(text)) {
    line = trim(line);
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
    return make_error(ErrorCode::malformed,
                      "backend.type is \"{}\": pbprobe reads SMs only from backend.archs of type cuda",
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
  if (!trim(text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()))).starts_with('{'))
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
