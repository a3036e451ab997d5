// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Chooses the code that a GPU gets from the cubins and PTX of a library.
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
  std::optional<std::string> best;  // name of the cubin that runs, or "compute_80" for PTX
  int64_t best_count = 0;
  int64_t units = 0;        // translation units: the largest count of any cubin
  int64_t exact_count = 0;  // cubins for exactly this capability, even if too few to make the library native
  std::optional<std::string> exact;
  bool contested = false;  // sources disagree on whether this GPU runs `best`
};

// Returns the best code for `gpu` that at least half of the translation units have. A handful of cubins for exactly
// this chip beside hundreds of others does not make a library native.
[[nodiscard]] CodeChoice choose_code(const DeviceCode& code, const Sm& gpu);

}  // namespace pbprobe
