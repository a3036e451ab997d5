// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Comparison of a build with a generic one: contents of files, and speed measured interleaved on this machine.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "core/facts/report.hpp"
#include "core/result.hpp"

namespace pbprobe {

struct CompareRequest {
  std::filesystem::path baseline;  // an artifact
  bool speeds = false;             // true: runs both builds; false: compares only their files
  std::filesystem::path program;   // see ReportOptions
  double budget_seconds = 180;
  std::function<void(std::string_view step)> progress;
};

// Fills the report's `baseline`, and its `reference` if the reference table lacks this version of torch. Requires an
// inventory and, for speeds, a host. Failures of the measurement are stored in `problem`. Errors: usage (no inventory,
// or the baseline is the build itself), and as for load_inventory.
[[nodiscard]] Result<void> compare_with_baseline(Report& report, const CompareRequest& request);

// Finds the torch of this machine that serves as the default baseline. Error: not_found.
[[nodiscard]] Result<std::filesystem::path> find_default_baseline(const Report& report);

}  // namespace pbprobe
