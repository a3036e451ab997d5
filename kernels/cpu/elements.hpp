// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Elements as CPU kernels see them, one at a time. A family header: see gemm_panels.hpp.
#pragma once

#include <cstdint>

#ifndef PBPROBE_TARGET
#error "define PBPROBE_TARGET, the target's id, before including a family header"
#endif

namespace pbprobe::PBPROBE_TARGET {
namespace {

struct Bf16 {
  uint16_t bits;
};

// std::is_same, without its header.
template <class T, class U>
constexpr bool kSame = false;
template <class T>
constexpr bool kSame<T, T> = true;

[[gnu::unused]] inline int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// To nearest, ties to even; a NaN stays one.
[[gnu::unused]] inline uint16_t narrow_element(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  const uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
  const uint32_t quiet = bits >> 16 | 0x40U;
  return static_cast<uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded);
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
