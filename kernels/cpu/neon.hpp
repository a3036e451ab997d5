// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Advanced SIMD instructions on 128 bits, as chunk_panels.hpp wants them. Needs FEAT_DotProd. A family header: see
// chunk_panels.hpp. Source: Arm Architecture Reference Manual, "FMLA (by element)", "SDOT (by element)".
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/call.hpp"
#include "kernels/cpu/chunks.hpp"
#include "kernels/cpu/elements.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// fmla v.4s by element.
struct FmlaNeon : ChunksOfFloats {
  using Accumulators = float32x4_t;
  using Chunk = float32x4_t;

  static int64_t segments() { return 1; }
  static Chunk load(const char* p) { return vld1q_f32(reinterpret_cast<const float*>(p)); }
  static Accumulators load_accumulators(const float* p) { return vld1q_f32(p); }
  static void store_accumulators(float* p, Accumulators s) { vst1q_f32(p, s); }
  using ChunksOfFloats::add;
  static Accumulators add(Accumulators a, Accumulators b) { return vaddq_f32(a, b); }
  template <int kLane>
  static void multiply_add(Accumulators& acc, Chunk b, Chunk a) {
    asm volatile("fmla %0.4s, %1.4s, %2.s[%3]" : "+w"(acc) : "w"(b), "w"(a), "i"(kLane));
  }
  static void multiply_add(Accumulators& acc, Chunk b, Chunk a) {
    asm volatile("fmla %0.4s, %1.4s, %2.4s" : "+w"(acc) : "w"(b), "w"(a));
  }
};

// sdot v.4s by element. A word is four bytes; an unsigned A is packed as a − 128, and 128 times the sum of B's column
// is where its accumulators start.
struct SdotNeon : ChunksOfWords {
  using Accumulator = int32_t;
  using Accumulators = int32x4_t;
  using Chunk = int8x16_t;
  static constexpr CpuType kAccumulatorType = CpuType::int32;
  static constexpr bool kCorrects = true;
  static constexpr CpuType kCorrected = CpuType::uint8;
  static constexpr int kGroup = 4;
  template <class T>
  static constexpr bool kReads = kSame<T, int8_t> || kSame<T, uint8_t>;

  static int64_t segments() { return 1; }
  static Chunk load(const char* p) { return vld1q_s8(reinterpret_cast<const int8_t*>(p)); }
  static Accumulators load_accumulators(const int32_t* p) { return vld1q_s32(p); }
  static void store_accumulators(int32_t* p, Accumulators s) { vst1q_s32(p, s); }
  static Accumulators add(Accumulators a, Accumulators b) { return vaddq_s32(a, b); }
  static int32_t add(int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }
  template <int kLane>
  static void multiply_add(Accumulators& acc, Chunk b, Chunk a) {
    asm volatile("sdot %0.4s, %1.16b, %2.4b[%3]" : "+w"(acc) : "w"(b), "w"(a), "i"(kLane));
  }
  static void multiply_add(Accumulators& acc, Chunk b, Chunk a) {
    asm volatile("sdot %0.4s, %1.16b, %2.16b" : "+w"(acc) : "w"(b), "w"(a));
  }
  static int32_t correction(int32_t column) { return static_cast<int32_t>(static_cast<uint32_t>(column) << 7); }

  template <int kColumns>
  static void sum_columns(const char* panel, int64_t steps, int32_t* to) {
    for (int j = 0; j < kColumns; j += kLines) {
      Accumulators acc = vdupq_n_s32(0);
      const char* b = panel + j / kLines * 16;
      for (int64_t i = 0; i < steps; ++i, b += kColumns / kLines * 16) acc = vdotq_s32(acc, load(b), vdupq_n_s8(1));
      store_accumulators(to + j, acc);
    }
  }
  template <class T>
  static void store_chunk(char* to, const T (&chunk)[4][4]) {
    store(to, words(&chunk[0][0]));
  }
  // Four bytes of four k each; the table transposes them.
  template <class T>
  static void gather(char* to, const T* from, int64_t along) {
    T rows[16];
    for (int i = 0; i < 4; ++i) __builtin_memcpy(rows + 4 * i, from + i * along, 4);
    constexpr uint8_t kTransposed[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    store(to, vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(words(rows)), vld1q_u8(kTransposed))));
  }
};

// Instructions, loads too, are volatile: the compilers' schedulers load further ahead than the registers last, and
// spill.
template <int kOffset, class Chunk>
[[gnu::always_inline]] inline void load_pair(Chunk& first, Chunk& second, const char* p) {
  asm volatile("ldp %q0, %q1, [%2, %3]" : "=w"(first), "=w"(second) : "r"(p), "i"(kOffset));
}
template <int kOffset, class Chunk>
[[gnu::always_inline]] inline void load_one(Chunk& chunk, const char* p) {
  asm volatile("ldr %q0, [%1, %2]" : "=w"(chunk) : "r"(p), "i"(kOffset));
}

template <class I, int kA, int kB, int kRows>
[[gnu::always_inline]] inline void step_neon(const char* a, const char* b, typename I::Accumulators (&acc)[kRows][3]) {
  typename I::Chunk x[2];
  typename I::Chunk y[3];
  if constexpr (kRows > 4) {
    load_pair<kA>(x[0], x[1], a);
  } else {
    load_one<kA>(x[0], a);
  }
  load_pair<kB>(y[0], y[1], b);
  load_one<kB + 32>(y[2], b);
#pragma GCC unroll 2
  for (int i = 0; i < kRows / 4; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < 3; ++j) {
      I::template multiply_add<0>(acc[4 * i][j], y[j], x[i]);
      I::template multiply_add<1>(acc[4 * i + 1][j], y[j], x[i]);
      I::template multiply_add<2>(acc[4 * i + 2][j], y[j], x[i]);
      I::template multiply_add<3>(acc[4 * i + 3][j], y[j], x[i]);
    }
  }
}

// A tile from two panels of 8 and 12 lines, or of the first kChunks chunks of A's rows: all accumulators stay in
// registers over all k.
template <class I, int kChunks, int kTileRows, int kColumns>
[[gnu::noinline]] void microkernel(const ChunkTile<typename I::Accumulator>& tile) {
  static_assert(kTileRows == 8 && kColumns == 12, "24 of the 32 registers hold acc, 5 the operands");
  constexpr int kRows = kChunks * 4;
  constexpr int kA = kTileRows * 4;  // bytes of a step
  constexpr int kB = kColumns * 4;
  const char* a = tile.a;
  const char* b = tile.b;
  typename I::Accumulators acc[kRows][3];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < 3; ++j) acc[i][j] = I::load_accumulators(tile.start + j * 4);
    __builtin_prefetch(tile.d + i * tile.ldd, 1);
  }
  int64_t left = tile.steps;
  asm volatile("" : : : "memory");  // packed data must be in memory before asm reads it
#pragma GCC unroll 1
  for (; left >= 4; left -= 4, a += 4 * kA, b += 4 * kB) {
    step_neon<I, 0, 0>(a, b, acc);
    step_neon<I, kA, kB>(a, b, acc);
    step_neon<I, 2 * kA, 2 * kB>(a, b, acc);
    step_neon<I, 3 * kA, 3 * kB>(a, b, acc);
  }
#pragma GCC unroll 1
  for (; left > 0; --left, a += kA, b += kB) step_neon<I, 0, 0>(a, b, acc);
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < 3; ++j) {
      typename I::Accumulator* d = tile.d + i * tile.ldd + j * 4;
      I::store_accumulators(d, tile.add ? I::add(I::load_accumulators(d), acc[i][j]) : acc[i][j]);
    }
  }
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
