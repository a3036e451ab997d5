// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Which files a claim is of: a claim file's patterns name some, ignore others, and leave the rest to the whole claim.
#pragma once

#include <string>
#include <vector>

#include "probes/judge/facts.hpp"

namespace pbprobe {

// Does the pattern name the path? `*` stands for folders too; without a slash it is held against the name only.
[[nodiscard]] bool names_path(const std::string& pattern, const std::string& path);

// Files under one claim, as an inventory of their own.
struct ClaimedFiles {
  const FileClaim* claim = nullptr;  // null: the whole's
  Inventory inventory;
  std::string name;  // "xformers 0.0.35", "vllm/_moe_C*.so of vllm 0.33.0"
};

// What the whole claim is of.
[[nodiscard]] ClaimedFiles files_of_whole_claim(const Facts& facts);

// Those of each pattern, in the order of the claim file.
[[nodiscard]] std::vector<ClaimedFiles> files_of_patterns(const Facts& facts);

// How many files each pattern of those to ignore names.
[[nodiscard]] std::vector<size_t> ignored_counts(const Facts& facts);

}  // namespace pbprobe
