// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Which words of aarch64 code need what. A word belongs to the first row whose bits under the mask it has.
// Source: Arm ARM (DDI 0487), section C4; tests/audit compares it with llvm-mc, bit pattern by bit pattern.
#pragma once

#include <cstdint>
#include <span>

#include "probes/audit/host_code/cpu_features.hpp"

namespace pbprobe {

struct WordMask {
  uint32_t mask;
  uint32_t value;
  FeatureSet features;  // 0: an exception that needs nothing
};

[[nodiscard]] std::span<const WordMask> base_masks();  // all but SVE
[[nodiscard]] std::span<const WordMask> sve_masks();   // SVE words that need more than SVE

inline constexpr FeatureSet kUnknownWord = 1;  // in the following lists: no known instruction

[[nodiscard]] std::span<const WordMask> unknown_sve_masks();

}  // namespace pbprobe
