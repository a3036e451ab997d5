// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_120a, sm_121a: GEMM of block-scaled types by mma.sync, operands along k only.
//   MX E4M3, E5M2   m16n8k32, a UE8M0 scale of each 32 elements
//   MX E2M1         m16n8k64, a UE8M0 scale of each 32
//   NVFP4 (E2M1)    m16n8k64, a UE4M3 scale of each 16
// k counts bytes: a byte holds two E2M1. Fragments have the layout of INT8. Each step starts from zero and is added in
// FP32, because the number of digits that this tensor core keeps is unknown. Family header: see mma.cuh. Source: PTX
// ISA, "Block Scaling for mma.sync".
#pragma once

#include "kernels/cuda/mma_scaled.cuh"
#include "kernels/cuda/peak_mma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// kBlock: bytes of k that share a scale. kOne: four scales of 1.
#define PBPROBE_MMA_BLOCKS_OP(name, block, one, shape, scaling, type, scale)                                     \
  struct name {                                                                                                  \
    using Accumulator = float;                                                                                   \
    static constexpr int kElement = 1;                                                                           \
    static constexpr int kBlock = block;                                                                         \
    static constexpr unsigned kOne = one;                                                                        \
    template <int kThreadA, int kThreadB, int kByte>                                                             \
    __device__ static void mma_scaled(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1,           \
                                      unsigned scale_a, unsigned scale_b) {                                      \
      float sum[4];                                                                                              \
      asm volatile("mma.sync.aligned." shape ".row.col.kind::" scaling ".f32." type "." type ".f32." scale       \
                   " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10}, %11, {%13, %14}, %12, " \
                   "{%13, %15};"                                                                                 \
                   : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])                                      \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(0.0F), "r"(scale_a),      \
                     "r"(scale_b), "n"(kByte), "n"(kThreadA), "n"(kThreadB));                                    \
      for (int i = 0; i < 4; ++i) c[i] += sum[i];                                                                \
    }                                                                                                            \
    __device__ static void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {                \
      mma_scaled<0, 0, 0>(c, a, b0, b1, kOne, kOne);                                                             \
    }                                                                                                            \
  };
PBPROBE_MMA_BLOCKS_OP(MxE4m3, 32, 0x7f7f7f7fU, "m16n8k32", "mxf8f6f4.block_scale.scale_vec::1X", "e4m3", "ue8m0")
PBPROBE_MMA_BLOCKS_OP(MxE5m2, 32, 0x7f7f7f7fU, "m16n8k32", "mxf8f6f4.block_scale.scale_vec::1X", "e5m2", "ue8m0")
PBPROBE_MMA_BLOCKS_OP(MxE2m1, 16, 0x7f7f7f7fU, "m16n8k64", "mxf4nvf4.block_scale.scale_vec::2X", "e2m1", "ue8m0")
PBPROBE_MMA_BLOCKS_OP(NvE2m1, 8, 0x38383838U, "m16n8k64", "mxf4nvf4.block_scale.scale_vec::4X", "e2m1", "ue4m3")
#undef PBPROBE_MMA_BLOCKS_OP

// Without the highest bit of the exponent: finite, and below 2.
template <>
__device__ inline unsigned peak_operand<MxE4m3>(unsigned seed) {
  return peak_operand<Int8>(seed) & 0xbfbfbfbfU;
}
template <>
__device__ inline unsigned peak_operand<MxE5m2>(unsigned seed) {
  return peak_operand<Int8>(seed) & 0xbfbfbfbfU;
}

// One operand's scales of a warp, kSets registers of rows or columns, for each word of a stage. A word is read for the
// coming stage as soon as its last step has used it; where a stage has one word, a stage ahead.
template <class Tile, int kSets>
struct StageScales {
  static constexpr int kOfStep = 32 / Tile::Op::kBlock;  // scales of a step
  static constexpr int kSteps = Tile::kLineBytes / 32;
  static constexpr int kWords = kOfStep * kSteps / 4;  // words of a stage
  static constexpr int kStepsOfWord = 4 / kOfStep;
  static constexpr bool kAhead = kWords == 1;
  static_assert(kWords * 4 == kOfStep * kSteps, "a stage has whole words of scales");

  const char* from[kSets];  // word 0 of each row
  unsigned held[kSets][kWords];
  unsigned ahead[kSets];
  int first;  // the part's first word
  int end;    // scales of a whole row

  // Returns the word `word` of a row, counted from the part's first. Scales beyond k become zero, whatever the padding
  // holds.
  __device__ unsigned read(int set, int word) const {
    const int left = end - 4 * (first + word);
    if (left <= 0) return 0;
    const unsigned four = *reinterpret_cast<const unsigned*>(from[set] + (first + word) * 512LL);
    return left >= 4 ? four : four & ((1U << 8 * left) - 1);
  }
  template <class RowOf>
  __device__ StageScales(const void* scales, const GpuCall& call, int across, int2 range, RowOf row_of)
      : first(range.x / (4 * Tile::Op::kBlock)), end((call.k + Tile::Op::kBlock - 1) / Tile::Op::kBlock) {
#pragma unroll
    for (int set = 0; set < kSets; ++set) {
      from[set] = static_cast<const char*>(scales) + scale_word_offset(row_of(set), 0, across);
#pragma unroll
      for (int word = 0; word < kWords; ++word) held[set][word] = read(set, word);
    }
  }
  // Before the first step of stage `stage`, and behind step `step` of it.
  __device__ void begin_stage(int stage) {
    if constexpr (kAhead) {
#pragma unroll
      for (int set = 0; set < kSets; ++set) ahead[set] = read(set, stage + 1);
    }
  }
  __device__ void end_step(int stage, int step) {
    if constexpr (kAhead) {
      if (step + 1 < kSteps) return;
#pragma unroll
      for (int set = 0; set < kSets; ++set) held[set][0] = ahead[set];
    } else {
      if ((step + 1) % kStepsOfWord != 0) return;
      const int word = step / kStepsOfWord;
#pragma unroll
      for (int set = 0; set < kSets; ++set) held[set][word] = read(set, (stage + 1) * kWords + word);
    }
  }
};

// The scales of both operands, of one warp.
template <class Tile>
struct MxScales {
  using Given = GpuBlockScales;
  static constexpr int kBlocksA = Tile::kWarpM / 16;
  static constexpr int kBlocksB = Tile::kWarpN / 8;
  using ScalesA = StageScales<Tile, (kBlocksA + 1) / 2>;
  using ScalesB = StageScales<Tile, (kBlocksB + 3) / 4>;
  ScalesA a;
  ScalesB b;

  __device__ MxScales(const Given& given, const GpuCall& call, int2 range, int row, int column)
      : a(given.a, call, given.across, range, [&](int set) { return row + scale_row_of(lane(), set, kBlocksA); }),
        b(given.b, call, given.across, range,
          [&](int set) { return column + scale_column_of(lane(), set, kBlocksB); }) {}
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ void begin_stage(int stage) {
    a.begin_stage(stage);
    b.begin_stage(stage);
  }
  __device__ void end_step(int stage, int step) {
    a.end_step(stage, step);
    b.end_step(stage, step);
  }
  // Multiplies block kRows of 16 rows by block kColumns of 8 columns of the warp.
  template <int kRows, int kColumns, int kStep>
  __device__ void mma(float (&c)[4], const unsigned (&of_a)[4], unsigned b0, unsigned b1) const {
    constexpr int kWord = kStep / ScalesA::kStepsOfWord;
    constexpr int kByte = kStep % ScalesA::kStepsOfWord * ScalesA::kOfStep;
    Tile::Op::template mma_scaled<kRows % 2, kColumns % 4, kByte>(c, of_a, b0, b1, a.held[kRows / 2][kWord],
                                                                  b.held[kColumns / 4][kWord]);
  }
};

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

#define PBPROBE_MMA_BLOCKS_TILE(name, ...) PBPROBE_MMA_SCALED_TILE(name, MxScales, __VA_ARGS__)
// A large tile, a small one, and one for up to 16 rows.
#define PBPROBE_MMA_BLOCKS_TYPE(name, type)                                         \
  PBPROBE_MMA_BLOCKS_TILE(gemm_##name##_128x128, 1, type, 128, 128, 64, 32, 128, 3) \
  PBPROBE_MMA_BLOCKS_TILE(gemm_##name##_64x64, 2, type, 64, 64, 32, 32, 128, 3)     \
  PBPROBE_MMA_BLOCKS_TILE(gemm_##name##_16x64, 1, type, 16, 64, 16, 16, 128, 8)     \
  PBPROBE_MMA_PEAK(name, type)
#define PBPROBE_MMA_BLOCKS_KERNELS         \
  PBPROBE_MMA_BLOCKS_TYPE(mx_e4m3, MxE4m3) \
  PBPROBE_MMA_BLOCKS_TYPE(mx_e5m2, MxE5m2) \
  PBPROBE_MMA_BLOCKS_TYPE(mx_e2m1, MxE2m1) \
  PBPROBE_MMA_BLOCKS_TYPE(nv_e2m1, NvE2m1)
