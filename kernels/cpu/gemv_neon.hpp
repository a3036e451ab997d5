// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Advanced SIMD instructions as gemv.hpp wants them. 128 bits at a time for every aarch64 target: GEMM for small M
// wait for the memory, whatever the length of the vectors is. Needs FEAT_DotProd. A family header: see gemm_panels.hpp.
// Source: Arm Architecture Reference Manual, "FMLA (vector)", "SDOT (vector)".
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/call.hpp"
#include "kernels/cpu/elements.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// Words of 32 bits, whatever is in them.
struct Words128 {
  using Words = uint32x4_t;
  using Chunk = Words;  // the name that the peak loops use
  static constexpr int kLanes = 4;

  static Words no_words() { return vdupq_n_u32(0); }
  static Words load_words(const void* p) { return vreinterpretq_u32_u8(vld1q_u8(static_cast<const uint8_t*>(p))); }
  static Chunk load(const char* p) { return load_words(p); }
  static void store_words(void* p, Words w) { vst1q_u8(static_cast<uint8_t*>(p), vreinterpretq_u8_u32(w)); }
  static Words broadcast(const void* p) {
    uint32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return vdupq_n_u32(word);
  }
  // Four words of a line; and of four lines, word i of each.
  static Words load_fours(const void* from, int64_t) { return load_words(from); }
  static void transpose_fours(Words (&w)[4]) { transpose(w); }
  // w[i][j] becomes w[j][i].
  static void transpose(Words (&w)[kLanes]) {
    const uint64x2_t low = vreinterpretq_u64_u32(vtrn1q_u32(w[0], w[1]));
    const uint64x2_t high = vreinterpretq_u64_u32(vtrn2q_u32(w[0], w[1]));
    const uint64x2_t next_low = vreinterpretq_u64_u32(vtrn1q_u32(w[2], w[3]));
    const uint64x2_t next_high = vreinterpretq_u64_u32(vtrn2q_u32(w[2], w[3]));
    w[0] = vreinterpretq_u32_u64(vtrn1q_u64(low, next_low));
    w[1] = vreinterpretq_u32_u64(vtrn1q_u64(high, next_high));
    w[2] = vreinterpretq_u32_u64(vtrn2q_u64(low, next_low));
    w[3] = vreinterpretq_u32_u64(vtrn2q_u64(high, next_high));
  }
};

// fmla v.4s. A word is one float; BF16 becomes one when it is read.
struct GemvFmla : Words128 {
  using Accumulator = float;
  using Accumulators = float32x4_t;
  static constexpr CpuType kAccumulatorType = CpuType::fp32;
  static constexpr bool kCorrects = false;
  static constexpr int kGroup = 1;
  template <class T>
  static constexpr bool kReads = kSame<T, float> || kSame<T, Bf16>;

  static Accumulators zero_accumulators() { return vdupq_n_f32(0); }
  static void store_accumulators(float* p, Accumulators s) { vst1q_f32(p, s); }
  static Accumulators add(Accumulators a, Accumulators b) { return vaddq_f32(a, b); }
  static Accumulators sums(const Accumulators (&v)[4]) {
    return vpaddq_f32(vpaddq_f32(v[0], v[1]), vpaddq_f32(v[2], v[3]));
  }
  static Accumulators multiply_add(Words a, Words b, Accumulators acc) {
    return vfmaq_f32(acc, vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b));
  }
  static void multiply_add(Accumulators& acc, Chunk b, Chunk a) {
    asm volatile("fmla %0.4s, %1.4s, %2.4s" : "+w"(acc) : "w"(b), "w"(a));
  }

  using Words128::load;
  // kLanes elements of one line, or the first `count` of them and zeros.
  template <bool kIsA>
  static Words load(const float* p) {
    return vreinterpretq_u32_f32(vld1q_f32(p));
  }
  template <bool kIsA>
  static Words load(const Bf16* p) {
    return vshll_n_u16(vld1_u16(&p->bits), 16);
  }
  template <bool kIsA, class T>
  static Words load_part(const T* p, int count) {
    T copy[kLanes] = {};
    for (int i = 0; i < count; ++i) copy[i] = p[i];
    return load<kIsA>(copy);
  }
  // Load the same k of kLanes contiguous columns, or of the first `lines`.
  template <bool kIsA, class T>
  static Words gather(const T* p, int64_t) {
    return load<kIsA>(p);
  }
  template <bool kIsA, class T>
  static Words gather_part(const T* p, int64_t, int lines, int) {
    return load_part<kIsA>(p, lines);
  }
};

// sdot v.4s. A word is four bytes; an unsigned A is packed as a − 128, and 128 times the sum of B's column is added.
struct GemvSdot : Words128 {
  using Accumulator = int32_t;
  using Accumulators = int32x4_t;
  static constexpr CpuType kAccumulatorType = CpuType::int32;
  static constexpr bool kCorrects = true;
  static constexpr CpuType kCorrected = CpuType::uint8;
  static constexpr int kGroup = 4;
  template <class T>
  static constexpr bool kReads = kSame<T, int8_t> || kSame<T, uint8_t>;

  static Accumulators zero_accumulators() { return vdupq_n_s32(0); }
  static void store_accumulators(int32_t* p, Accumulators s) { vst1q_s32(p, s); }
  static Accumulators add(Accumulators a, Accumulators b) { return vaddq_s32(a, b); }
  static Accumulators sums(const Accumulators (&v)[4]) {
    return vpaddq_s32(vpaddq_s32(v[0], v[1]), vpaddq_s32(v[2], v[3]));
  }
  static Words ones() { return vreinterpretq_u32_u8(vdupq_n_u8(1)); }
  static Accumulators correction(Accumulators columns) { return vshlq_n_s32(columns, 7); }
  static Accumulators multiply_add(Words a, Words b, Accumulators acc) {
    return vdotq_s32(acc, vreinterpretq_s8_u32(a), vreinterpretq_s8_u32(b));
  }
  static void multiply_add(Accumulators& acc, Chunk b, Chunk a) {
    asm volatile("sdot %0.4s, %1.16b, %2.16b" : "+w"(acc) : "w"(b), "w"(a));
  }

  template <bool kIsA, class T>
  static Words shifted(Words w) {
    return kIsA && kSame<T, uint8_t> ? veorq_u32(w, vdupq_n_u32(0x80808080U)) : w;
  }
  using Words128::load;
  template <bool kIsA, class T>
  static Words load(const T* p) {
    return shifted<kIsA, T>(load_words(p));
  }
  template <bool kIsA, class T>
  static Words load_part(const T* p, int count) {
    T copy[16] = {};
    for (int i = 0; i < count; ++i) copy[i] = p[i];
    return load<kIsA>(copy);
  }
  // Four k of four columns each; the table transposes them.
  template <bool kIsA, class T>
  static Words gather(const T* p, int64_t along) {
    return gather_part<kIsA>(p, along, kLanes, kGroup);
  }
  template <bool kIsA, class T>
  static Words gather_part(const T* p, int64_t along, int lines, int k_block) {
    T rows[16] = {};
    if (lines == kLanes) {
      for (int d = 0; d < k_block; ++d) __builtin_memcpy(rows + 4 * d, p + d * along, 4);
    } else {
      for (int d = 0; d < k_block; ++d) {
        for (int i = 0; i < lines; ++i) rows[4 * d + i] = p[d * along + i];
      }
    }
    constexpr uint8_t kTransposed[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    const uint8x16_t transposed = vqtbl1q_u8(vreinterpretq_u8_u32(load_words(rows)), vld1q_u8(kTransposed));
    return shifted<kIsA, T>(vreinterpretq_u32_u8(transposed));
  }
};

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
