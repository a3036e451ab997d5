// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Contents of device code for one chip. One rule finds idle kernels in torch, its libraries and other packages.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/inventory.hpp"
#include "core/sm.hpp"
#include "core/targets.hpp"
#include "probes/judge/say.hpp"

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

// Share of cubins without a kernel, of idle kernels, and of cubins with only idle kernels, that sound builds reach.
struct IdleLimits {
  double empty_cubins;
  double idle_kernels;
  double idle_cubins;
};

// In libtorch_cuda.so of torch 2.11.0 with CUDA 13.0, 2 % (SM 9.0) to 13.5 % (SM 7.5) of the kernels are idle, and 5 %
// to 19 % of the cubins; every tenth cubin has no kernel for its SM. In small files of torch 2.10 to 2.15, 12 % of the
// kernels are idle; in NCCL for SM 8.0, a third.
inline constexpr IdleLimits kOfLibtorch{0.2, 0.2, 0.3};
inline constexpr IdleLimits kOfSmallFile{0.2, 0.25, 0.25};
inline constexpr IdleLimits kOfTinyFile{0.2, 0.45, 0.25};  // libtorch_nvshmem.so: 4 of 9 only assert before SM 9.0
inline constexpr IdleLimits kOfLibrary{1, 0.6, 1};         // cuBLAS has an empty cubin for most of its files
// Packages compile one kernel for each chip generation; on other chips it only prints "FATAL". xformers has four.
inline constexpr IdleLimits kOfPackage{0.2, 0.8, 0.2};

// Returns why the kernels of `code` are faulty; nullopt if they are sound. `file` and `target` appear in the sentence.
[[nodiscard]] std::optional<Sentence> find_idle_code(const SmCensus& code, const IdleLimits& limits,
                                                     std::string_view file, std::string_view target);

}  // namespace pbprobe
