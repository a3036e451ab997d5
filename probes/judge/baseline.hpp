// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A build beside a generic one: may their speeds be compared, and is it smaller?
#pragma once

#include <string>
#include <vector>

#include "core/facts/inventory.hpp"

namespace pbprobe {

struct BuildComparison {
  std::vector<std::string> differences;  // for which a ratio would say nothing of the specialization; empty: comparable
  std::string size;                      // "612 MB against 1730 MB (-65 %; 50 to 70 % less is promised)"
};

// What counts: torch's version, the CUDA line, BLAS, and the thread runtime, as the files tell them. What one of them
// does not tell is a difference too.
[[nodiscard]] BuildComparison compare_builds(const Inventory& build, const Inventory& baseline);

}  // namespace pbprobe
