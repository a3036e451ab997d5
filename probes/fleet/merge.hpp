// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// From the files that nodes wrote to a judged fleet.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "probes/fleet/facts.hpp"

namespace pbprobe {

struct MergeRequest {
  std::vector<std::filesystem::path> documents;  // files, and folders of *.json
  double false_alarm_rate = 1e-4;
  double floor = 0.03;
  std::optional<std::filesystem::path> expected;  // hosts, one a line
  std::optional<std::filesystem::path> baseline;  // a fleet of before
  std::function<void(std::string_view step)> progress;
};

// Merges the documents. A document that cannot be read becomes a problem of the fleet, and its node has no result.
// Errors: not_found (no document), and errors of the baseline and the host list.
[[nodiscard]] Result<Fleet> merge_documents(const MergeRequest& request);

// A fleet as `pbprobe merge` wrote it. Errors: not_found, unreadable, malformed.
[[nodiscard]] Result<Fleet> load_fleet(const std::filesystem::path& file);

}  // namespace pbprobe
