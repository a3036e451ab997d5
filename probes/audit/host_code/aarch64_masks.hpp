// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// CPU features that words of aarch64 code need; the first matching row applies. Source: Arm ARM (DDI 0487), section C4;
// tests/audit compares each bit pattern with llvm-mc.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "probes/audit/host_code/cpu_features.hpp"

namespace pbprobe {

struct WordMask {
  uint32_t mask;
  uint32_t value;
};

// Words that need the same features.
struct FeatureMasks {
  FeatureSet features;  // 0: exceptions that need nothing
  std::initializer_list<WordMask> words;
};

[[nodiscard]] std::span<const FeatureMasks> base_masks();  // all but SVE
[[nodiscard]] std::span<const FeatureMasks> sve_masks();   // SVE words that need more than SVE

inline constexpr FeatureSet kUnknownWord = 1;  // in the following list: no known instruction

[[nodiscard]] std::span<const FeatureMasks> unknown_sve_masks();

}  // namespace pbprobe
