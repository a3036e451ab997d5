// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// From accumulators to C: scales, bias, conversion. A family header: see gemm_panels.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/call.hpp"
#include "kernels/cpu/elements.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// Whether C is anything but the accumulators themselves.
[[gnu::unused]] inline bool must_finish(const CpuCall& call, CpuType sum_type) {
  return call.c_type != sum_type || call.bias || call.scale_a || call.scale_b;
}

// Sixteen numbers of a row, in whatever registers the target has.
constexpr int kFinished = 16;
using Sixteen = float __attribute__((vector_size(64)));
using SixteenIntegers = int32_t __attribute__((vector_size(64)));
using SixteenBits = uint32_t __attribute__((vector_size(64)));
using SixteenHalves = uint16_t __attribute__((vector_size(32)));

// As narrow_element() does it.
[[gnu::always_inline]] inline void narrow_sixteen(const Sixteen& values, SixteenHalves& halves) {
  SixteenBits bits;
  __builtin_memcpy(&bits, &values, sizeof bits);
  const SixteenBits rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
  const SixteenBits quiet = bits >> 16 | 0x40U;
  const SixteenBits chosen = (bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded;
  halves = __builtin_convertvector(chosen, SixteenHalves);
}

// `some` numbers, the others zero.
template <class T, class Vector>
[[gnu::always_inline]] inline void take(const T* from, int some, Vector& to) {
  if (some == kFinished) {
    __builtin_memcpy(&to, from, sizeof to);
  } else {
    T copy[kFinished] = {};
    for (int j = 0; j < some; ++j) copy[j] = from[j];
    __builtin_memcpy(&to, copy, sizeof to);
  }
}

[[gnu::always_inline]] inline void take_accumulators(const float* from, int some, Sixteen& to) {
  take(from, some, to);
}

[[gnu::always_inline]] inline void take_accumulators(const int32_t* from, int some, Sixteen& to) {
  SixteenIntegers acc;
  take(from, some, acc);
  to = __builtin_convertvector(acc, Sixteen);
}

template <class T, class Vector>
[[gnu::always_inline]] inline void give(const Vector& from, int some, T* to) {
  if (some == kFinished) {
    __builtin_memcpy(to, &from, sizeof from);
  } else {
    __builtin_memcpy(to, &from, static_cast<size_t>(some) * sizeof(T));
  }
}

// Scales, adds the bias and converts `columns` finished accumulators of one row into C[row, column…]. The accumulators
// may lie where they go, if C's elements are as wide.
template <class Accumulator>
[[gnu::unused]] void finish_row(const CpuCall& call, const Accumulator* from, int64_t row, int64_t column,
                                int64_t columns) {
  const float scale = call.scale_a ? call.scale_a[row] : 1.0F;
  Sixteen values;
  Sixteen more;
  SixteenHalves halves;
  for (int64_t end = column + columns; column < end; column += kFinished, from += kFinished) {
    const int some = static_cast<int>(least(kFinished, end - column));
    const int64_t to = row * call.ldc + column;
    take_accumulators(from, some, values);
    values *= scale;
    if (call.scale_b) {
      take(call.scale_b + column, some, more);
      values *= more;
    }
    if (call.bias) {
      take(call.bias + column, some, more);
      values += more;
    }
    if (call.c_type == CpuType::bf16) {
      narrow_sixteen(values, halves);
      give(halves, some, static_cast<uint16_t*>(call.c) + to);
    } else {
      give(values, some, static_cast<float*>(call.c) + to);
    }
  }
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
