// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/cpu/marks.hpp"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "core/cpu_needs.hpp"

namespace pbprobe {
namespace {

using Names = std::vector<std::string>;

// Lists libtorch's kernel files that ld.so loads on the target's CPUs, at the highest glibc-hwcaps level.
std::vector<const File*> list_kernel_files(const Inventory& inventory, const Target& target) {
  std::vector<const File*> files;
  size_t highest = 0;  // number of features of the highest level
  for (const auto& file : inventory.files) {
    const bool kernels = is_libtorch(inventory, file) && file.host_code->cpu_capabilities.contains("DEFAULT");
    if (!kernels || !is_loaded_with(file, list_target_features(target))) continue;
    const size_t level = list_hwcaps_features(file.path).value_or(Names{}).size();
    if (level > highest) files.clear();
    highest = std::max(highest, level);
    if (level == highest) files.push_back(&file);
  }
  return files;
}

std::vector<const File*> list_loaded_files(const Inventory& inventory, const Target& target) {
  std::vector<const File*> files;
  for (const auto& file : inventory.files) {
    if (is_libtorch(inventory, file) && is_loaded_with(file, list_target_features(target))) files.push_back(&file);
  }
  return files;
}

}  // namespace

Names list_names(const std::map<std::string, int64_t>& counts) {
  Names names;
  for (const auto& [name, count] : counts) names.push_back(name);
  return names;
}

bool shares(const Names& a, const Names& b) {
  return std::ranges::any_of(a, [&](const auto& name) { return std::ranges::find(b, name) != b.end(); });
}

bool is_libtorch(const Inventory& inventory, const File& file) {
  return is_own(inventory, file) && file.host_code.has_value();
}

bool is_loaded_with(const File& file, const Names& features) {
  Names needed = list_hwcaps_features(file.path).value_or(Names{});
  std::erase(needed, "rdtscp");  // no level of the psABI has RDTSCP, which a hypervisor may hide
  return missing_features(needed, complete_record(features)).empty();
}

Names used_by_libtorch(const Inventory& inventory, const Target& target) {
  const Names there = list_target_features(target);
  std::set<std::string> used;
  for (const auto& file : inventory.files) {
    if (!is_libtorch(inventory, file) || !is_loaded_with(file, there)) continue;
    for (const auto& [name, count] : file.host_code->unguarded) used.insert(name);
  }
  return {used.begin(), used.end()};
}

bool is_built_for(const Inventory& inventory, const Target& target) {
  if (!target.marks) return false;
  const auto kernels = list_kernel_files(inventory, target);
  return shares(used_by_libtorch(inventory, target), *target.marks) &&
         std::ranges::all_of(
             kernels, [&](const File* file) { return shares(list_names(file->host_code->unguarded), *target.marks); });
}

std::optional<Sentence> too_few_marks(const Inventory& inventory, const Target& target) {
  if (!target.least_marks || !target.marks) return std::nullopt;
  auto files = list_kernel_files(inventory, target);
  if (files.empty()) files = list_loaded_files(inventory, target);
  int64_t all = 0;
  std::map<std::string, int64_t> counts;
  for (const File* file : files) {
    all += file->host_code->unguarded_instructions;
    for (const auto& mark : *target.marks) {
      const auto found = file->host_code->unguarded.find(mark);
      if (found != file->host_code->unguarded.end()) counts[mark] += found->second;
    }
  }
  int64_t most = 0;
  for (const auto& [mark, count] : counts) most = std::max(most, count);
  if (all == 0 || 1000.0 * static_cast<double>(most) >= *target.least_marks * static_cast<double>(all))
    return std::nullopt;
  return say(
      "{} is claimed, and of {} instructions that run on every CPU only {} use {}: compilers with flags for this CPU "
      "emit {} in a thousand or more",
      target.id, all, most, fmt::join(*target.marks, ", "), *target.least_marks);
}

Names unused_marks_of_flags(const Inventory& inventory, const Target& target, const Names& used) {
  constexpr int64_t kEnoughCode = 50000;
  int64_t all = 0;
  for (const auto& file : inventory.files) {
    if (is_libtorch(inventory, file)) all += file.host_code->unguarded_instructions;
  }
  Names absent;
  for (const auto& mark : target.marks.value_or(Names{})) {
    const auto& flags = target.recipe_flags;
    const bool own_flag = std::ranges::find(flags, "-m" + mark) != flags.end();
    if (own_flag && std::ranges::find(used, mark) == used.end()) absent.push_back(mark);
  }
  return all < kEnoughCode ? Names{} : absent;
}

}  // namespace pbprobe
