// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Judges what many nodes wrote: each rank by its own results, by its equals, and by the baseline. The same for two
// nodes as for ten thousand.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/facts/node.hpp"
#include "probes/fleet/facts.hpp"

namespace pbprobe {

struct FleetPolicy {
  double false_alarm_rate = 1e-4;     // of a sound rank, over all of its figures
  double floor = 0.03;                // of the median
  std::vector<std::string> expected;  // hosts that shall be there
  std::optional<Fleet> baseline;
  std::string baseline_name;
};

// Who did not come is named where a document, the list of expected hosts or the baseline has it. `unread` are sentences
// on documents that could not be read.
[[nodiscard]] Fleet judge_fleet(const std::vector<NodeReport>& documents, const FleetPolicy& policy,
                                std::vector<std::string> unread = {});

}  // namespace pbprobe
