// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/cpu_needs.hpp"

#include <algorithm>

namespace pbprobe {
namespace {

using Names = std::vector<std::string>;

bool has(std::span<const std::string> names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

void add(Names& names, std::span<const std::string> more) {
  for (const auto& name : more) {
    if (!has(names, name)) names.push_back(name);
  }
}

bool any_of_row(const Target& target, std::span<const std::string> needs) {
  Names makes = target.requires_features;
  if (target.marks) add(makes, *target.marks);
  return std::ranges::any_of(makes, [&](const auto& name) { return has(needs, name); });
}

std::string with(std::string text, std::span<const std::string> more) {
  for (const auto& name : more) text += "+" + name;
  return text;
}

}  // namespace

Names missing_features(std::span<const std::string> wanted, std::span<const std::string> there) {
  Names missing;
  for (const auto& name : wanted) {
    if (!has(there, name)) missing.push_back(name);
  }
  return missing;
}

Names list_target_features(const Target& target) {
  Names names = target.requires_features;
  add(names, target.recipe_requires);
  if (target.implied_features) add(names, *target.implied_features);
  return names;
}

// The hwcaps levels equal rows of the table: x86-64-v3 is the Haswell row, x86-64-v4 the Skylake-SP row.
std::optional<Names> list_hwcaps_features(std::string_view path) {
  constexpr std::string_view kFolder = "glibc-hwcaps/";
  const size_t found = path.find(kFolder);
  if (found == std::string_view::npos || (found > 0 && path[found - 1] != '/')) return std::nullopt;
  const std::string_view rest = path.substr(found + kFolder.size());
  const std::string_view level = rest.substr(0, rest.find('/'));
  const Target* row = nullptr;
  if (level == "x86-64-v2") row = find_target("avx");
  if (level == "x86-64-v3") row = find_target("avx2");
  if (level == "x86-64-v4") row = find_target("avx512");
  if (row == nullptr) return Names{};
  if (level != "x86-64-v2") return list_target_features(*row);
  Names names = row->implied_features.value_or(Names{});
  std::erase_if(names, [](const std::string& name) { return name == "xsave" || name == "rdtscp"; });  // not of v2
  return names;
}

Names complete_record(std::span<const std::string> host_features) {
  Names names(host_features.begin(), host_features.end());
  if (!has(names, "sse4_2") || has(names, "cx16")) return names;
  add(names, Names{"cx16", "lahf_lm", "rdtscp"});
  if (has(names, "avx")) names.emplace_back("xsave");  // detection requires the register state of AVX, so XSAVE
  return names;
}

Names lacking_features(std::string_view architecture, std::span<const std::string> needs,
                       std::span<const std::string> host_features) {
  Names known;
  for (const auto& target : all_targets()) {
    if (target.kind != TargetKind::cpu || target.architecture != architecture || !has_variants(target)) continue;
    add(known, list_target_features(target));
  }
  Names lacking = missing_features(needs, complete_record(host_features));
  std::erase_if(lacking, [&](const auto& name) { return !has(known, name); });
  return lacking;
}

bool has_some_cpu(std::span<const std::string> features) {
  // Features of one CPU family, and those that the family lacks.
  struct Family {
    std::initializer_list<std::string_view> own;
    std::initializer_list<std::string_view> lacks;
  };
  static const std::initializer_list<std::string_view> kUnsold{"apx_f", "avx10_2", "lse128", "hbc", "lrcpc3"};
  static const std::initializer_list<Family> kFamilies{
      {{"fma4", "xop", "tbm"}, {"avx512", "avx_", "amx_", "sha", "gfni", "vaes", "vpclmulqdq"}},  // AMD Bulldozer
      {{"sse4a"}, {"amx_", "avx512er", "avx512pf", "avx512_4"}},                                  // AMD
      {{"avx512er", "avx512pf", "avx512_4"}, {"avx512vl", "avx512bw", "avx512dq", "amx_", "avx_", "sha", "gfni"}}};
  const auto begins_any = [&](std::initializer_list<std::string_view> begins) {
    return std::ranges::any_of(features, [&](const std::string& name) {
      return std::ranges::any_of(begins, [&](std::string_view begin) { return name.starts_with(begin); });
    });
  };
  return !begins_any(kUnsold) && std::ranges::none_of(kFamilies, [&](const Family& family) {
    return begins_any(family.own) && begins_any(family.lacks);
  });
}

std::string minimum_cpu(std::string_view architecture, std::span<const std::string> needs) {
  std::string base(architecture);
  if (needs.empty()) return base;
  if (!has_some_cpu(needs)) return std::string(kUnknownCpu);
  const Target* best = nullptr;
  Names best_missing;
  size_t best_size = 0;
  for (const auto& target : all_targets()) {
    if (target.kind != TargetKind::cpu || target.architecture != architecture || !has_variants(target)) continue;
    const Names there = list_target_features(target);
    Names missing = missing_features(needs, there);
    const bool better = best == nullptr || missing.size() < best_missing.size() ||
                        (missing.size() == best_missing.size() && there.size() < best_size);
    if (!better) continue;
    best = &target;
    best_missing = std::move(missing);
    best_size = there.size();
  }
  // Code without any feature that distinguishes the row (only SSE4.1, for example) runs on older CPUs too.
  if (best == nullptr || !any_of_row(*best, needs)) return with(base, needs);
  return with(best->id, best_missing);
}

const Target* base_target(const Target& target) {
  const Target* base = nullptr;
  size_t most = 0;
  for (const auto& row : all_targets()) {
    if (row.kind != TargetKind::cpu || row.id == target.id || row.architecture != target.architecture) continue;
    if (row.marks != target.marks || !target.marks) continue;
    if (!missing_features(row.recipe_requires, target.recipe_requires).empty()) continue;
    if (row.recipe_requires.size() < target.recipe_requires.size() && row.recipe_requires.size() > most) {
      base = &row;
      most = row.recipe_requires.size();
    }
  }
  return base;
}

Names own_features(const Target& target) {
  const Target* base = base_target(target);
  Names own =
      base == nullptr ? target.recipe_requires : missing_features(target.recipe_requires, base->recipe_requires);
  const Names marks = target.marks.value_or(Names{});
  if (missing_features(own, marks).size() != own.size()) own.clear();  // the claim check requires a mark in any case
  return own;
}

}  // namespace pbprobe
