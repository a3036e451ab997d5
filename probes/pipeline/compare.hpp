// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Holds a build beside a generic one: what their files say, and by turns on this machine, how fast they are.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "core/facts/report.hpp"
#include "core/result.hpp"

namespace pbprobe {

struct CompareRequest {
  std::filesystem::path baseline;  // an artifact
  bool speeds = false;             // run both; else their files alone are compared
  std::filesystem::path program;   // as in ReportOptions
  double budget_seconds = 180;
  std::function<void(std::string_view step)> progress;
};

// The report has an inventory, and for speeds a host. What could not be measured is `problem`, not an error. Errors:
// usage (a report without an inventory, or the baseline is the build itself), else those of load_inventory.
[[nodiscard]] Result<BaselineComparison> compare_with_baseline(const Report& report, const CompareRequest& request);

// The torch of this machine that a build is compared with where none is named. Errors: not_found.
[[nodiscard]] Result<std::filesystem::path> find_default_baseline(const Report& report);

}  // namespace pbprobe
