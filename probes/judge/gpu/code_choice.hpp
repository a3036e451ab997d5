// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Which cubin runs on which GPU: NVIDIA's rules, and what a library as a whole gets from its cubins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/facts/inventory.hpp"
#include "core/facts/verdict.hpp"
#include "core/sm.hpp"

namespace pbprobe {

struct CodeChoice {
  GpuCode code = GpuCode::unknown;
  std::optional<std::string> best;  // the cubin that runs: a cubin's name, or "compute_80" for PTX
  int64_t best_count = 0;
  int64_t units = 0;        // translation units: the largest count of any cubin
  int64_t exact_count = 0;  // cubins for exactly this capability, where they are too few to be the library's
  std::optional<std::string> exact;
  bool contested = false;  // whether it runs is reported differently by different sources
};

// What a GPU gets from a library: the cubin that most of its translation units have. A handful of cubins for exactly
// this chip beside hundreds of others does not make a library native.
[[nodiscard]] CodeChoice choose_code(const DeviceCode& code, const Sm& gpu);

}  // namespace pbprobe
