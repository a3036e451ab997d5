// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// CPU features of each ISA set that Zydis distinguishes.
#pragma once

#include <optional>
#include <string_view>

#include "probes/audit/host_code/cpu_features.hpp"

namespace pbprobe {

struct IsaSet {
  FeatureSet features = 0;  // 0: every x86-64 CPU has it, ignores it, or leaves it to the kernel
  bool unknown = false;     // no CPU feature tells which CPU runs it: its bytes count as an unknown instruction
};

// Returns the decision about the ISA set that Zydis calls `name`; nullopt for unknown names.
[[nodiscard]] std::optional<IsaSet> find_isa_set(std::string_view name);

}  // namespace pbprobe
