// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// From accumulators to C: scales, bias, conversion. A family header: see gemm_panels.hpp.
#pragma once

#if defined(__AVX__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/call.hpp"
#include "kernels/cpu/elements.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// Reports whether C differs from the accumulators: by type, bias or scales.
[[gnu::unused]] inline bool must_finish(const CpuCall& call, CpuType sum_type) {
  return call.c_type != sum_type || call.bias || call.scale_a || call.scale_b;
}

// Sixteen numbers of a row, in whatever registers the target has.
constexpr int kFinished = 16;
using Sixteen = float __attribute__((vector_size(64)));
using SixteenIntegers = int32_t __attribute__((vector_size(64)));
using SixteenBits = uint32_t __attribute__((vector_size(64)));
using SixteenHalves = uint16_t __attribute__((vector_size(32)));

// Rounds sixteen numbers like narrow_element().
[[gnu::always_inline]] inline void narrow_sixteen(const Sixteen& values, SixteenHalves& halves) {
  SixteenBits bits;
  __builtin_memcpy(&bits, &values, sizeof bits);
  const SixteenBits rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
  const SixteenBits quiet = bits >> 16 | 0x40U;
  // Signed, and without "?:": gcc compares and chooses vectors wider than the registers element by element.
  const SixteenIntegers magnitude = reinterpret_cast<SixteenIntegers>(bits & 0x7fffffffU);
  const SixteenBits nan = reinterpret_cast<SixteenBits>((0x7f800000 - magnitude) >> 31);
  halves = __builtin_convertvector((quiet & nan) | (rounded & ~nan), SixteenHalves);
}

// Rounds sums of FP32 by the target's own instruction. It flushes numbers below 2⁻¹²⁶ to zero, as its products do.
template <class Accumulator>
[[gnu::always_inline]] inline void narrow_sums(const Sixteen& values, SixteenHalves& halves) {
#if defined(__AVX512BF16__)
  if constexpr (kSame<Accumulator, float>) {
    __m512 from;
    __builtin_memcpy(&from, &values, sizeof from);
    const __m256bh to = _mm512_cvtneps_pbh(from);
    __builtin_memcpy(&halves, &to, sizeof halves);
    return;
  }
#endif
  narrow_sixteen(values, halves);
}

// The first words of 32 bits of sixteen; take_words() makes the others zero.
#if defined(__AVX512BW__) && defined(__AVX512VL__)
[[gnu::always_inline]] inline void take_words(const void* from, int some, void* to) {
  const auto mask = static_cast<__mmask16>((1U << some) - 1U);
  _mm512_storeu_si512(to, _mm512_maskz_loadu_epi32(mask, from));
}
[[gnu::always_inline]] inline void give_some(const Sixteen& from, int some, float* to) {
  __m512 values;
  __builtin_memcpy(&values, &from, sizeof values);
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1U << some) - 1U), values);
}
[[gnu::always_inline]] inline void give_some(const SixteenHalves& from, int some, uint16_t* to) {
  __m256i halves;
  __builtin_memcpy(&halves, &from, sizeof halves);
  _mm256_mask_storeu_epi16(to, static_cast<__mmask16>((1U << some) - 1U), halves);
}
#else
[[gnu::always_inline]] inline void take_words(const void* from, int some, void* to) {
#if defined(__AVX__)
  alignas(32) static constexpr int32_t kThere[32] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  const auto* words = static_cast<const float*>(from);
  for (int half = 0; half < kFinished; half += 8) {
    const __m256i mask = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(kThere + kFinished - some + half));
    _mm256_storeu_ps(static_cast<float*>(to) + half, _mm256_maskload_ps(words + half, mask));
  }
#else
  uint32_t copy[kFinished] = {};
  for (int j = 0; j < some; ++j) __builtin_memcpy(copy + j, static_cast<const uint32_t*>(from) + j, sizeof copy[0]);
  __builtin_memcpy(to, copy, sizeof copy);
#endif
}
// Stores `some` elements by powers of two, so that the compiler knows each size.
template <class T, class Vector>
[[gnu::always_inline]] inline void give_some(const Vector& from, int some, T* to) {
  T all[kFinished];
  __builtin_memcpy(all, &from, sizeof from);
  const T* at = all;
  const auto give = [&](int count, size_t bytes) {
    if ((some & count) == 0) return;
    __builtin_memcpy(to, at, bytes);
    to += count;
    at += count;
  };
  give(8, 8 * sizeof(T));
  give(4, 4 * sizeof(T));
  give(2, 2 * sizeof(T));
  give(1, sizeof(T));
}
#endif

// `some` numbers, the others zero.
template <class T, class Vector>
[[gnu::always_inline]] inline void take(const T* from, int some, Vector& to) {
  if (some == kFinished) {
    __builtin_memcpy(&to, from, sizeof to);
  } else {
    take_words(from, some, &to);
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
    give_some(from, some, to);
  }
}

// Scales, adds the bias and converts `columns` finished accumulators of one row into C[row, column…]. `from` may be the
// destination, if C's elements are as wide.
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
      narrow_sums<Accumulator>(values, halves);
      give(halves, some, static_cast<uint16_t*>(call.c) + to);
    } else {
      give(values, some, static_cast<float*>(call.c) + to);
    }
  }
}

// Scales, adds the bias and converts one accumulator into C[row, column].
template <class Accumulator>
[[gnu::unused]] inline void finish_element(const CpuCall& call, Accumulator acc, int64_t row, int64_t column) {
  auto value = static_cast<float>(acc);
  if (call.scale_a) value *= call.scale_a[row];
  if (call.scale_b) value *= call.scale_b[column];
  if (call.bias) value += call.bias[column];
  const int64_t to = row * call.ldc + column;
  if (call.c_type == CpuType::bf16) {
    static_cast<uint16_t*>(call.c)[to] = narrow_element(value);
  } else {
    static_cast<float*>(call.c)[to] = value;
  }
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
