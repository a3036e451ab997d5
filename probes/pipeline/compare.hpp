// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Holds a build beside a generic one: what their files say, and interleaved on this machine, how fast they are.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "core/facts/report.hpp"
#include "core/result.hpp"

namespace pbprobe {

struct CompareRequest {
  std::filesystem::path baseline;  // an artifact
  bool speeds = false;             // run both; else only their files are compared
  std::filesystem::path program;   // as in ReportOptions
  double budget_seconds = 180;
  std::function<void(std::string_view step)> progress;
};

// Fills the report's `baseline`; and its `reference`, where that knows nothing of this version of torch. The report has
// an inventory, and for speeds a host. What could not be measured is `problem`, not an error. Errors: usage (a report
// without an inventory, or the baseline is the build itself), else those of load_inventory.
[[nodiscard]] Result<void> compare_with_baseline(Report& report, const CompareRequest& request);

// The torch of this machine that a build is compared with where none is named. Errors: not_found.
[[nodiscard]] Result<std::filesystem::path> find_default_baseline(const Report& report);

}  // namespace pbprobe
