// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Selects the files of each claim. A claim file's patterns select or ignore files; the whole claim covers the rest.
#pragma once

#include <string>
#include <vector>

#include "probes/judge/facts.hpp"

namespace pbprobe {

// Reports whether `pattern` matches `path`. `*` also matches slashes. Without a slash, matches only the base name.
[[nodiscard]] bool names_path(const std::string& pattern, const std::string& path);

// Files under one claim, as an inventory of their own.
struct ClaimedFiles {
  const FileClaim* claim = nullptr;  // nullptr for the whole claim
  Inventory inventory;
  std::string name;  // "xformers 0.0.35", "vllm/_moe_C*.so of vllm 0.33.0"
};

// Returns the files that no pattern selects or ignores.
[[nodiscard]] ClaimedFiles files_of_whole_claim(const Facts& facts);

// Returns the files of each pattern, in the order of the claim file.
[[nodiscard]] std::vector<ClaimedFiles> files_of_patterns(const Facts& facts);

// Counts the files that each "ignore" pattern matches.
[[nodiscard]] std::vector<size_t> ignored_counts(const Facts& facts);

}  // namespace pbprobe
