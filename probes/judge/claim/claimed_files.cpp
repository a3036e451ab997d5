// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/claim/claimed_files.hpp"

#include <fnmatch.h>
#include <algorithm>

#include <fmt/format.h>

namespace pbprobe {
namespace {

const std::vector<FileClaim>& get_file_patterns(const Facts& facts) {
  static const std::vector<FileClaim> none;
  return facts.claim != nullptr && facts.claim->files ? *facts.claim->files : none;
}

const std::vector<IgnoredFiles>& get_ignored_files(const Facts& facts) {
  static const std::vector<IgnoredFiles> none;
  return facts.claim != nullptr && facts.claim->ignored ? *facts.claim->ignored : none;
}

bool is_ignored(const Facts& facts, const File& file) {
  const auto& ignored = get_ignored_files(facts);
  return std::ranges::any_of(ignored, [&](const IgnoredFiles& one) { return names_path(one.files, file.path); });
}

// Returns the last pattern that matches `file`; nullptr if only the whole claim covers `file`.
const FileClaim* find_file_claim(const Facts& facts, const File& file) {
  const auto& patterns = get_file_patterns(facts);
  const auto last = std::find_if(patterns.rbegin(), patterns.rend(),
                                 [&](const FileClaim& one) { return names_path(one.files, file.path); });
  return last == patterns.rend() ? nullptr : &*last;
}

ClaimedFiles select_claimed_files(const Facts& facts, const FileClaim* claim) {
  ClaimedFiles part{.claim = claim, .name = facts.torch};
  if (claim != nullptr) part.name = fmt::format("{} of {}", claim->files, facts.torch);
  const Inventory& all = *facts.inventory;
  part.inventory.artifact = all.artifact;
  part.inventory.layout = all.layout;
  part.inventory.packages = all.packages;
  for (const auto& file : all.files) {
    if (find_file_claim(facts, file) == claim && !is_ignored(facts, file)) part.inventory.files.push_back(file);
  }
  return part;
}

}  // namespace

bool names_path(const std::string& pattern, const std::string& path) {
  const bool whole = pattern.find('/') != std::string::npos;
  return fnmatch(pattern.c_str(), whole ? path.c_str() : std::string(base_name(path)).c_str(), 0) == 0;
}

ClaimedFiles files_of_whole_claim(const Facts& facts) {
  return select_claimed_files(facts, nullptr);
}

std::vector<ClaimedFiles> files_of_patterns(const Facts& facts) {
  std::vector<ClaimedFiles> parts;
  for (const auto& pattern : get_file_patterns(facts)) parts.push_back(select_claimed_files(facts, &pattern));
  return parts;
}

std::vector<size_t> ignored_counts(const Facts& facts) {
  std::vector<size_t> counts;
  const auto& files = facts.inventory->files;
  for (const auto& ignored : get_ignored_files(facts))
    counts.push_back(static_cast<size_t>(
        std::ranges::count_if(files, [&](const File& file) { return names_path(ignored.files, file.path); })));
  return counts;
}

}  // namespace pbprobe
