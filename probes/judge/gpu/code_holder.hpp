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

// Number of units of device code that hold the claimed code.
struct HeldUnits {
  int64_t with = 0;
  int64_t all = 0;  // without units that hold only code for other chips (suffix a or f)
};

// Files that one check treats as one library with device code.
struct CodeHolder {
  std::string path;  // path of the first file
  std::vector<const File*> files;

  // Names of the SMs that any of the files has machine code for ("sm_90a"), or PTX ("compute_90").
  [[nodiscard]] std::set<std::string> cubins() const;
  [[nodiscard]] std::set<std::string> ptx() const;

  // Counts the units with machine code for `sm`: for exactly `sm` if it has a suffix, else for its capability. If the
  // holder has builds for several SMs, counts the build with the largest share of such units.
  [[nodiscard]] HeldUnits count_units_for_sm(const Sm& sm) const;
  // Counts the units with PTX for exactly `sm`: PTX for compute_90a runs on no later chip.
  [[nodiscard]] HeldUnits units_with_ptx(const Sm& sm) const;
};

// Returns the holders of device code, by path: each library; all raw cubins of a folder; libraries whose paths differ
// only by the SM of their code, as sm90/ops.so and sm100/ops.so.
[[nodiscard]] std::vector<CodeHolder> find_holders(const Inventory& inventory);

}  // namespace pbprobe
