// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Chunks of 16 bytes, how they are put together from rows and columns, and the tile that reads them: what neon.hpp and
// sve.hpp share. A family header: see chunk_panels.hpp.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/call.hpp"
#include "kernels/cpu/elements.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// Operands and result of one tile: d[i][j] (+)= start[j] + A · B of two panels.
template <class Accumulator>
struct ChunkTile {
  const char* a;
  const char* b;
  int64_t steps;
  const Accumulator* start;
  Accumulator* d;  // C itself, the partial sums, or a buffer of one tile
  int64_t ldd;
  bool add;  // to what is in d
};

[[gnu::unused]] inline float32x4_t load_floats(const float* p) {
  return vld1q_f32(p);
}
[[gnu::unused]] inline float32x4_t load_floats(const int32_t* p) {
  return vcvtq_f32_s32(vld1q_s32(p));
}

// Rounds four numbers like narrow_element().
[[gnu::unused]] inline uint16x4_t narrow_floats(float32x4_t values) {
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
  return vreinterpret_u16_bf16(vcvt_bf16_f32(values));
#else
  const uint32x4_t bits = vreinterpretq_u32_f32(values);
  const uint32x4_t rounded = bits + ((bits >> 16 & 1U) + 0x7fffU);
  return vshrn_n_u32(vbslq_u32(vceqq_f32(values, values), rounded, bits | 0x400000U), 16);
#endif
}

// Chunks of four lines, a word of 32 bits of each: one float, or four bytes.
struct ChunksOfWords {
  static constexpr int kLines = 4;
  static constexpr int kTransposedGroups = 4;  // groups that are transposed at once

  static uint32x4_t words(const float* p) { return vreinterpretq_u32_f32(vld1q_f32(p)); }
  static uint32x4_t words(const Bf16* p) { return vshlq_n_u32(vmovl_u16(vld1_u16(&p->bits)), 16); }
  static uint32x4_t words(const int8_t* p) { return vreinterpretq_u32_s8(vld1q_s8(p)); }
  // Returns a − 128, for the signed instructions.
  static uint32x4_t words(const uint8_t* p) { return vreinterpretq_u32_u8(veorq_u8(vld1q_u8(p), vdupq_n_u8(128))); }

  // Four words of four lines, along contiguous K, become four chunks. `across`: elements from one line to the next.
  template <class T>
  static void transpose(const T* from, int64_t across, char (&chunks)[4][16]) {
    const uint32x4_t r0 = words(from);
    const uint32x4_t r1 = words(from + across);
    const uint32x4_t r2 = words(from + 2 * across);
    const uint32x4_t r3 = words(from + 3 * across);
    const uint64x2_t p0 = vreinterpretq_u64_u32(vtrn1q_u32(r0, r1));
    const uint64x2_t p1 = vreinterpretq_u64_u32(vtrn2q_u32(r0, r1));
    const uint64x2_t p2 = vreinterpretq_u64_u32(vtrn1q_u32(r2, r3));
    const uint64x2_t p3 = vreinterpretq_u64_u32(vtrn2q_u32(r2, r3));
    const uint64x2_t transposed[4] = {vtrn1q_u64(p0, p2), vtrn1q_u64(p1, p3), vtrn2q_u64(p0, p2), vtrn2q_u64(p1, p3)};
    for (int i = 0; i < 4; ++i) __builtin_memcpy(chunks[i], &transposed[i], 16);
  }
  static void store(char* to, uint32x4_t chunk) { __builtin_memcpy(to, &chunk, sizeof chunk); }
};

// A word is one float; BF16 becomes one while it is packed.
struct ChunksOfFloats : ChunksOfWords {
  using Accumulator = float;
  static constexpr CpuType kAccumulatorType = CpuType::fp32;
  static constexpr bool kCorrects = false;
  static constexpr int kGroup = 1;
  template <class T>
  static constexpr bool kReads = kSame<T, float> || kSame<T, Bf16>;

  static float add(float a, float b) { return a + b; }
  template <class T>
  static void store_chunk(char* to, const T (&chunk)[4][1]) {
    T line[4];
    for (int i = 0; i < 4; ++i) line[i] = chunk[i][0];
    store(to, words(line));
  }
  template <class T>
  static void gather(char* to, const T* from, int64_t) {
    store(to, words(from));
  }
};

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
