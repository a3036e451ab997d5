// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/claim.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "core/pep440.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kExample = "sm90,avx512,cuda=13.0,torch=2.10.0,python=3.13,blas=openblas,only";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

Result<void> set_once(std::optional<std::string>& slot, std::string_view key, std::string value) {
  if (slot) return make_error(ErrorCode::usage, "{}= is given twice, as {} and as {}: keep one", key, *slot, value);
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

// Accepts "3.13" and "313", and "3.13t" for the free-threaded Python, which has another ABI.
Result<std::string> python_value(std::string_view value) {
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
    if (std::find(choices.begin(), choices.end(), value) == choices.end())
      return make_error(ErrorCode::usage, "blas={}: choose one of {}", value, fmt::join(choices, ", "));
    return set_once(claim.blas, key, std::string(value));
  }
  return make_error(ErrorCode::usage, "unknown key \"{}\": choose one of cuda, torch, python, blas", key);
}

Result<void> read_word(Claim& claim, std::string_view word, const Matrix& m) {
  if (word.empty()) return make_error(ErrorCode::usage, "a word is missing between two commas: write {}", kExample);
  if (const auto equals = word.find('='); equals != std::string_view::npos)
    return read_pair(claim, trimmed(word.substr(0, equals)), trimmed(word.substr(equals + 1)), m);
  if (word == "only") {
    claim.exact = true;
    return {};
  }
  PBPROBE_TRY(const auto* target, require_target(word));
  if (std::find(claim.targets.begin(), claim.targets.end(), target->id) != claim.targets.end())
    return make_error(ErrorCode::usage, "{} is given twice: keep one", target->id);
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
      return make_error(ErrorCode::usage, "{} and {}: no build is for both {} and {}", cpus.front()->id, cpu->id,
                        cpus.front()->architecture, cpu->architecture);
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
    PBPROBE_CHECK(read_word(claim, trimmed(rest.substr(0, comma)), m));
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
  const auto given = trimmed(text);
  if (given.empty())
    return make_error(ErrorCode::usage, "an empty claim: give a variant's name, or a list such as {}", kExample);
  if (looks_like_variant(given)) {
    PBPROBE_TRY(const auto variant, parse_variant(given, m), "claim");
    auto claim = claim_of(variant, m);
    claim.text = std::string(given);
    return claim;
  }
  PBPROBE_TRY(auto claim, parse_list(given, m), "claim \"{}\"", given);
  return claim;
}

Claim claim_of(const Variant& variant, const Matrix& m) {
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

}  // namespace pbprobe
