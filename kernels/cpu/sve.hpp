// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// SVE instructions for chunk_panels.hpp, for every vector length: each 128-bit segment works on its own chunks, whose k
// follow the k of the segment before. Needs FEAT_BF16 and FEAT_I8MM. A family header: see chunk_panels.hpp. Source: Arm
// Architecture Reference Manual, "FMLA (indexed)", "BFMMLA", "SMMLA, UMMLA, USMMLA".
#pragma once

#include <arm_neon.h>
#include <arm_sve.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/call.hpp"
#include "kernels/cpu/chunks.hpp"
#include "kernels/cpu/elements.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// Instructions, loads too, are volatile: the compilers' schedulers load further ahead than the registers last, and
// spill. Whole vectors at kOffset vectors behind p: LDR reaches farther than the loads with a predicate.
template <int kOffset, class Vector>
[[gnu::always_inline]] inline void load_vector(Vector& vector, const char* p) {
  asm volatile("ldr %0, [%1, #%2, mul vl]" : "=w"(vector) : "r"(p), "i"(kOffset));
}

struct FloatAccumulatorsSve {
  using Accumulators = svfloat32_t;
  static Accumulators zero_accumulators() { return svdup_n_f32(0); }
  static Accumulators load_accumulators(svbool_t lanes, const float* p) { return svld1_f32(lanes, p); }
  static void store_accumulators(svbool_t lanes, float* p, Accumulators s) { svst1_f32(lanes, p, s); }
  static Accumulators add_accumulators(Accumulators a, Accumulators b) { return svadd_f32_x(svptrue_b32(), a, b); }
  template <int kLanes>
  static Accumulators transposed(Accumulators s) {
    return svext_f32(s, s, kLanes);
  }
};

struct IntegerAccumulatorsSve {
  using Accumulators = svint32_t;
  static Accumulators zero_accumulators() { return svdup_n_s32(0); }
  static Accumulators load_accumulators(svbool_t lanes, const int32_t* p) { return svld1_s32(lanes, p); }
  static void store_accumulators(svbool_t lanes, int32_t* p, Accumulators s) { svst1_s32(lanes, p, s); }
  static Accumulators add_accumulators(Accumulators a, Accumulators b) { return svadd_s32_x(svptrue_b32(), a, b); }
  template <int kLanes>
  static Accumulators transposed(Accumulators s) {
    return svext_s32(s, s, kLanes);
  }
};

// fmla z.s, indexed within each segment.
struct FmlaSve : ChunksOfFloats, FloatAccumulatorsSve {
  using Vector = svfloat32_t;
  static int64_t segments() { return static_cast<int64_t>(svcntb()) / 16; }
  template <int kLane>
  [[gnu::always_inline]] static void multiply_add(Accumulators& acc, Vector b, Vector a) {
    asm volatile("fmla %0.s, %1.s, %2.s[%3]" : "+w"(acc) : "w"(b), "y"(a), "i"(kLane));
  }
  [[gnu::always_inline]] static void multiply_add(Accumulators& acc, Vector b, Vector a) { multiply_add<0>(acc, b, a); }
};

// Chunks of two lines, eight bytes of each: what the matrix instructions take, 2 × 2 accumulators a segment.
template <class Element>
struct ChunksOfBlocks {
  static constexpr bool kCorrects = false;
  static constexpr int kLines = 2;
  static constexpr int kTransposedGroups = 2;
  static constexpr int kGroup = 8 / static_cast<int>(sizeof(Element));

  static int64_t segments() { return static_cast<int64_t>(svcntb()) / 16; }
  // Two groups of two lines, along contiguous K, become two chunks. `across`: elements from one line to the next.
  template <class T>
  static void transpose(const T* from, int64_t across, char (&chunks)[2][16]) {
    uint64x2_t lines[2];
    for (int i = 0; i < 2; ++i) __builtin_memcpy(&lines[i], from + i * across, 16);
    const uint64x2_t transposed[2] = {vtrn1q_u64(lines[0], lines[1]), vtrn2q_u64(lines[0], lines[1])};
    for (int i = 0; i < 2; ++i) __builtin_memcpy(chunks[i], &transposed[i], 16);
  }
  template <class T>
  static void store_chunk(char* to, const T (&chunk)[2][kGroup]) {
    __builtin_memcpy(to, chunk, 16);
  }
  template <class T>
  static void gather(char* to, const T* from, int64_t along) {
    T pairs[2 * kGroup];
    for (int i = 0; i < kGroup; ++i) __builtin_memcpy(pairs + 2 * i, from + i * along, 2 * sizeof(T));
    uint8x16_t v;
    __builtin_memcpy(&v, pairs, 16);
    uint64x2_t even;
    uint64x2_t odd;
    if constexpr (sizeof(T) == 2) {
      const uint16x8_t halves = vreinterpretq_u16_u8(v);
      even = vreinterpretq_u64_u16(vuzp1q_u16(halves, halves));
      odd = vreinterpretq_u64_u16(vuzp2q_u16(halves, halves));
    } else {
      even = vreinterpretq_u64_u8(vuzp1q_u8(v, v));
      odd = vreinterpretq_u64_u8(vuzp2q_u8(v, v));
    }
    const uint64x2_t chunk = vtrn1q_u64(even, odd);
    __builtin_memcpy(to, &chunk, 16);
  }
};

// bfmmla z.s.
struct BfmmlaSve : ChunksOfBlocks<Bf16>, FloatAccumulatorsSve {
  using Accumulator = float;
  using Vector = svbfloat16_t;
  static constexpr CpuType kAccumulatorType = CpuType::fp32;
  template <class T>
  static constexpr bool kReads = kSame<T, Bf16>;
  static float add(float a, float b) { return a + b; }
  [[gnu::always_inline]] static void multiply_add(Accumulators& acc, Vector b, Vector a) {
    asm volatile("bfmmla %0.s, %1.h, %2.h" : "+w"(acc) : "w"(a), "w"(b));
  }
};

struct IntegerBlocksSve : ChunksOfBlocks<int8_t>, IntegerAccumulatorsSve {
  using Accumulator = int32_t;
  using Vector = svint8_t;
  static constexpr CpuType kAccumulatorType = CpuType::int32;
  static int32_t add(int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }
};

// smmla z.s.
struct SmmlaSve : IntegerBlocksSve {
  template <class T>
  static constexpr bool kReads = kSame<T, int8_t>;
  [[gnu::always_inline]] static void multiply_add(Accumulators& acc, Vector b, Vector a) {
    asm volatile("smmla %0.s, %1.b, %2.b" : "+w"(acc) : "w"(a), "w"(b));
  }
};

// usmmla z.s: an unsigned A.
struct UsmmlaSve : IntegerBlocksSve {
  template <class T>
  static constexpr bool kReads = kSame<T, int8_t> || kSame<T, uint8_t>;
  [[gnu::always_inline]] static void multiply_add(Accumulators& acc, Vector b, Vector a) {
    asm volatile("usmmla %0.s, %1.b, %2.b" : "+w"(acc) : "w"(a), "w"(b));
  }
};

// The accumulators of all segments, in the first one.
template <class I>
[[gnu::always_inline]] inline typename I::Accumulators over_segments(typename I::Accumulators acc, int64_t segments) {
  typename I::Accumulators transposed = acc;
#pragma GCC unroll 1
  for (int64_t i = 1; i < segments; ++i) {
    transposed = I::template transposed<4>(transposed);
    acc = I::add_accumulators(acc, transposed);
  }
  return acc;
}

template <class I>
[[gnu::always_inline]] inline void store_line(svbool_t lanes, typename I::Accumulator* d, bool add,
                                              typename I::Accumulators acc) {
  I::store_accumulators(lanes, d, add ? I::add_accumulators(I::load_accumulators(lanes, d), acc) : acc);
}

// Vectors of SVE have no size, so there are no arrays of them: each sum is a variable, and macros write them all.
#define PBPROBE_ROW_3(DO, i) DO(i, 0) DO(i, 1) DO(i, 2)
#define PBPROBE_ROW_5(DO, i) DO(i, 0) DO(i, 1) DO(i, 2) DO(i, 3) DO(i, 4)
#define PBPROBE_ROWS_FIRST_4(DO) PBPROBE_ROW_3(DO, 0) PBPROBE_ROW_3(DO, 1) PBPROBE_ROW_3(DO, 2) PBPROBE_ROW_3(DO, 3)
#define PBPROBE_ROWS_LAST_4(DO) PBPROBE_ROW_3(DO, 4) PBPROBE_ROW_3(DO, 5) PBPROBE_ROW_3(DO, 6) PBPROBE_ROW_3(DO, 7)
#define PBPROBE_ACCUMULATOR(i, j) typename I::Accumulators s##i##j = I::zero_accumulators();

// A tile from two panels of 8 and 12 lines, or of A's first kChunks chunks of four rows.
template <class I, int kChunks>
[[gnu::noinline]] void microkernel_words(const ChunkTile<typename I::Accumulator>& tile) {
  const int64_t segments = I::segments();
  const int64_t vector = segments * 16;
  const char* a = tile.a;
  const char* b = tile.b;
  int64_t left = tile.steps;
  PBPROBE_ROWS_FIRST_4(PBPROBE_ACCUMULATOR)
  PBPROBE_ROWS_LAST_4(PBPROBE_ACCUMULATOR)
  asm volatile("" : : : "memory");  // packed data must be in memory before asm reads it

#define PBPROBE_ADD(i, j) I::template multiply_add<(i) % 4>(s##i##j, y##j, x);
#define PBPROBE_STEP(u)                \
  {                                    \
    typename I::Vector x, y0, y1, y2;  \
    load_vector<(u)*3>(y0, b);         \
    load_vector<(u)*3 + 1>(y1, b);     \
    load_vector<(u)*3 + 2>(y2, b);     \
    load_vector<(u)*2>(x, a);          \
    PBPROBE_ROWS_FIRST_4(PBPROBE_ADD)  \
    if constexpr (kChunks > 1) {       \
      load_vector<(u)*2 + 1>(x, a);    \
      PBPROBE_ROWS_LAST_4(PBPROBE_ADD) \
    }                                  \
  }
#pragma GCC unroll 1
  for (; left >= 4; left -= 4, a += 4 * 2 * vector, b += 4 * 3 * vector) {
    PBPROBE_STEP(0) PBPROBE_STEP(1) PBPROBE_STEP(2) PBPROBE_STEP(3)
  }
#pragma GCC unroll 1
  for (; left > 0; --left, a += 2 * vector, b += 3 * vector) PBPROBE_STEP(0)
#undef PBPROBE_STEP
#undef PBPROBE_ADD

  const svbool_t four = svptrue_pat_b32(SV_VL4);
#define PBPROBE_STORE(i, j) \
  store_line<I>(four, tile.d + (i)*tile.ldd + (j)*4, tile.add, over_segments<I>(s##i##j, segments));
  PBPROBE_ROWS_FIRST_4(PBPROBE_STORE)
  if constexpr (kChunks > 1) {
    PBPROBE_ROWS_LAST_4(PBPROBE_STORE)
  }
#undef PBPROBE_STORE
}

// A tile from two panels of 10 lines, or of A's first kChunks chunks of two rows.
template <class I, int kChunks>
[[gnu::noinline]] void microkernel_blocks(const ChunkTile<typename I::Accumulator>& tile) {
  const int64_t segments = I::segments();
  const int64_t vector = segments * 16;
  const char* a = tile.a;
  const char* b = tile.b;
  int64_t left = tile.steps;
  PBPROBE_ROW_5(PBPROBE_ACCUMULATOR, 0)
  PBPROBE_ROW_5(PBPROBE_ACCUMULATOR, 1)
  PBPROBE_ROW_5(PBPROBE_ACCUMULATOR, 2)
  PBPROBE_ROW_5(PBPROBE_ACCUMULATOR, 3)
  PBPROBE_ROW_5(PBPROBE_ACCUMULATOR, 4)
  asm volatile("" : : : "memory");  // packed data must be in memory before asm reads it

#define PBPROBE_ADD(i, j) I::multiply_add(s##i##j, y##j, x);
#define PBPROBE_ROW(u, i)           \
  if constexpr (kChunks > (i)) {    \
    load_vector<(u)*5 + (i)>(x, a); \
    PBPROBE_ROW_5(PBPROBE_ADD, i)   \
  }
#define PBPROBE_STEP(u)                                                                       \
  {                                                                                           \
    typename I::Vector x, y0, y1, y2, y3, y4;                                                 \
    load_vector<(u)*5>(y0, b);                                                                \
    load_vector<(u)*5 + 1>(y1, b);                                                            \
    load_vector<(u)*5 + 2>(y2, b);                                                            \
    load_vector<(u)*5 + 3>(y3, b);                                                            \
    load_vector<(u)*5 + 4>(y4, b);                                                            \
    PBPROBE_ROW(u, 0) PBPROBE_ROW(u, 1) PBPROBE_ROW(u, 2) PBPROBE_ROW(u, 3) PBPROBE_ROW(u, 4) \
  }
#pragma GCC unroll 1
  for (; left >= 8; left -= 8, a += 8 * 5 * vector, b += 8 * 5 * vector) {
    PBPROBE_STEP(0)
    PBPROBE_STEP(1) PBPROBE_STEP(2) PBPROBE_STEP(3) PBPROBE_STEP(4) PBPROBE_STEP(5) PBPROBE_STEP(6) PBPROBE_STEP(7)
  }
#pragma GCC unroll 1
  for (; left > 0; --left, a += 5 * vector, b += 5 * vector) PBPROBE_STEP(0)
#undef PBPROBE_STEP
#undef PBPROBE_ROW
#undef PBPROBE_ADD

  const svbool_t two = svptrue_pat_b32(SV_VL2);
#define PBPROBE_STORE(i, j)                                                     \
  if constexpr (kChunks > (i)) {                                                \
    typename I::Accumulator* d = tile.d + 2 * (i)*tile.ldd + 2 * (j);           \
    const typename I::Accumulators acc = over_segments<I>(s##i##j, segments);   \
    store_line<I>(two, d, tile.add, acc);                                       \
    store_line<I>(two, d + tile.ldd, tile.add, I::template transposed<2>(acc)); \
  }
  PBPROBE_ROW_5(PBPROBE_STORE, 0)
  PBPROBE_ROW_5(PBPROBE_STORE, 1)
  PBPROBE_ROW_5(PBPROBE_STORE, 2)
  PBPROBE_ROW_5(PBPROBE_STORE, 3)
  PBPROBE_ROW_5(PBPROBE_STORE, 4)
#undef PBPROBE_STORE
}

#undef PBPROBE_ACCUMULATOR
#undef PBPROBE_ROWS_LAST_4
#undef PBPROBE_ROWS_FIRST_4
#undef PBPROBE_ROW_5
#undef PBPROBE_ROW_3

template <class I, int kChunks, int kTileRows, int kColumns>
void microkernel(const ChunkTile<typename I::Accumulator>& tile) {
  if constexpr (I::kLines == 4) {
    static_assert(kTileRows == 8 && kColumns == 12, "24 of the 32 registers hold acc, 5 the operands");
    microkernel_words<I, kChunks>(tile);
  } else {
    static_assert(kTileRows == 10 && kColumns == 10, "25 of the 32 registers hold acc, 6 the operands");
    microkernel_blocks<I, kChunks>(tile);
  }
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
