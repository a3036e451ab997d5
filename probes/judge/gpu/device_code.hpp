// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What device code holds for one chip.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/inventory.hpp"
#include "core/sm.hpp"
#include "core/targets.hpp"

namespace pbprobe {

// By a cubin's name: "sm_90a".
using Censuses = std::map<std::string, SmCensus>;

// A GPU target's. Null: a CPU's.
[[nodiscard]] std::optional<Sm> chip_of(const Target& target);

// "sm_90 sm_90a" is two cubins.
[[nodiscard]] std::vector<std::string> cubins_of(const std::string& unit_set);

struct Units {
  int64_t all = 0;   // translation units with device code
  int64_t with = 0;  // those with machine code for the chip
};
[[nodiscard]] Units units_for(const DeviceCode& code, const Sm& chip);

// Adds up what was counted; of idle kernels the first ones are kept.
void add_to(SmCensus& sum, const SmCensus& census);

// Of exactly this capability, whatever the suffix.
[[nodiscard]] SmCensus census_for(const Censuses& censuses, const Sm& chip);

// What the driver takes on this chip: the latest capability that runs there. One with few cubins is passed over: cuBLAS
// has a single one for SM 12.1, whose kernel does nothing, and the others for 12.0.
[[nodiscard]] SmCensus census_that_runs(const Censuses& censuses, const Sm& chip);

// As it stands in a finding: C++, cut to 100 bytes. A kernel's may be 700 long.
[[nodiscard]] std::string kernel_name(const std::string& mangled);

}  // namespace pbprobe
