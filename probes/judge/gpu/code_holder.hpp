// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Device code that serves one purpose: a library, the builds of one library for several SMs, or the raw cubins of a
// folder.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/sm.hpp"
#include "probes/judge/facts.hpp"

namespace pbprobe {

// Units of device code that hold what is claimed.
struct HeldUnits {
  int64_t with = 0;
  int64_t all = 0;  // without those that are made for other chips only (suffix a or f)
};

struct CodeHolder {
  std::string path;  // of the first file
  std::vector<const File*> files;

  // Names of the SMs that any of the files has machine code for ("sm_90a"), or PTX ("compute_90").
  [[nodiscard]] std::set<std::string> cubins() const;
  [[nodiscard]] std::set<std::string> ptx() const;

  // Counts the units with machine code for `sm`: with a suffix exactly that, else for the capability. Of builds for
  // several SMs, the build that has most of its units for it counts.
  [[nodiscard]] HeldUnits units_with(const Sm& sm) const;
  // Counts the units with PTX for exactly `sm`: PTX for compute_90a runs on no later chip.
  [[nodiscard]] HeldUnits units_with_ptx(const Sm& sm) const;
};

// Returns the holders of device code among the files, by path. Libraries are one holder if their paths differ only by
// the number of the SM that each has code for: sm90/ops.so and sm100/ops.so.
[[nodiscard]] std::vector<CodeHolder> find_holders(const Inventory& inventory);

}  // namespace pbprobe
