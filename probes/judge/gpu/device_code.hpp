// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Contents of device code for one chip.
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

// Census by cubin name: "sm_90a".
using Censuses = std::map<std::string, SmCensus>;

// Returns the SM of a GPU target; nullopt for a CPU target.
[[nodiscard]] std::optional<Sm> get_target_sm(const Target& target);

// Splits "sm_90 sm_90a" into its two cubin names.
[[nodiscard]] std::vector<std::string> list_unit_cubins(const std::string& unit_set);

struct Units {
  int64_t all = 0;   // translation units with device code
  int64_t with = 0;  // translation units with machine code for the chip
};
[[nodiscard]] Units count_sm_units(const DeviceCode& code, const Sm& chip);

// Adds the counts of `census` to `sum`. Keeps the names of idle kernels of the first census that has any.
void add_census(SmCensus& sum, const SmCensus& census);

// Sums the censuses with the capability of `chip`, with any suffix.
[[nodiscard]] SmCensus sum_census(const Censuses& censuses, const Sm& chip);

// Returns the census of the code that the driver takes on `chip`: the latest capability that runs there. Skips a
// capability with few cubins: cuBLAS has one cubin for SM 12.1, whose kernel does nothing, and all others for 12.0.
[[nodiscard]] SmCensus census_that_runs(const Censuses& censuses, const Sm& chip);

// Demangles a kernel name for a finding, and truncates the result to 100 bytes. Full names reach 700.
[[nodiscard]] std::string kernel_name(const std::string& mangled);

}  // namespace pbprobe
