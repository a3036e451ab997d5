// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Judges the reports of two to thousands of nodes: each rank by its own results, by its equals, and by the baseline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/facts/node.hpp"
#include "probes/fleet/facts.hpp"

namespace pbprobe {

struct FleetPolicy {
  double false_alarm_rate = 1e-4;     // probability per sound rank, over all its figures
  double floor = 0.03;                // least deviation, as a share of the median
  std::vector<std::string> expected;  // expected hosts
  std::optional<Fleet> baseline;
  std::string baseline_name;
};

// Judges the fleet. A missing rank or host is named if a document, the list of expected hosts or the baseline names it.
// `unread` contains sentences about unreadable documents.
[[nodiscard]] Fleet judge_fleet(const std::vector<NodeReport>& documents, const FleetPolicy& policy,
                                std::vector<std::string> unread = {});

}  // namespace pbprobe
