// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_120a, sm_121a: GEMM of block-scaled types by mma.sync, operands along k only.
//   MX E4M3, E5M2   m16n8k32, a UE8M0 scale of each 32 elements
//   MX E2M1         m16n8k64, a UE8M0 scale of each 32
//   NVFP4 (E2M1)    m16n8k64, a UE4M3 scale of each 16
// k counts bytes: two E2M1 lie in one. Fragments are those of INT8. Each step starts from zero and is added in FP32,
// since nobody knows yet how many digits this tensor core keeps. Family header: see mma.cuh. Source: PTX ISA, "Block
// Scaling for mma.sync".
#pragma once

#include "kernels/cuda/block_scales.hpp"
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
  static constexpr int kWords = kOfStep * kSteps / 4;  // of a stage
  static constexpr int kStepsOfWord = 4 / kOfStep;
  static constexpr bool kAhead = kWords == 1;
  static_assert(kWords * 4 == kOfStep * kSteps, "a stage has whole words of scales");

  const char* from[kSets];  // each row's word 0
  unsigned held[kSets][kWords];
  unsigned ahead[kSets];
  int first;  // the part's first word
  int end;    // scales of a whole row

  // Of a row, the word `word` from the part's first on. What lies beyond k counts as zero, whatever the padding holds.
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

template <int kValue>
struct Constant {
  static constexpr int value = kValue;
};
// way(Constant<0>()) to way(Constant<kCount - 1>()): what an instruction takes as constants.
template <int kCount, int kFirst = 0, class Way>
__device__ inline void for_each_constant(Way way) {
  if constexpr (kFirst < kCount) {
    way(Constant<kFirst>());
    for_each_constant<kCount, kFirst + 1>(way);
  }
}

template <class Tile>
__device__ inline void mma_blocks_gemm(const GpuCall& call, const GpuBlockScales& scales) {
  using Op = typename Tile::Op;
  constexpr int kBlocksA = Tile::kWarpM / 16;
  constexpr int kBlocksB = Tile::kWarpN / 16;
  constexpr int kSteps = Tile::kLineBytes / 32;
  constexpr int kBytesA = Tile::kM * Tile::kLineBytes;
  constexpr int kAhead = Tile::kStages - 1;
  extern __shared__ __align__(128) unsigned char ring[];
  const unsigned base = shared_address(ring);

  using RowsA = Operand<Tile::kM, Tile::kTileK, 1, Tile::kThreads, true, Swizzle::matrices>;
  using RowsB = Operand<Tile::kN, Tile::kTileK, 1, Tile::kThreads, true, Swizzle::matrices>;
  const int2 range = k_range(call);
  constexpr int kWarpsDown = Tile::kM / Tile::kWarpM;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int my_row = warp % kWarpsDown * Tile::kWarpM;
  const int my_column = warp / kWarpsDown * Tile::kWarpN;
  const Fragments<Tile::kM, Tile::kLineBytes, true> fragments_a(my_row, true, 0);
  const Fragments<Tile::kN, Tile::kLineBytes, true> fragments_b(my_column, false, kBytesA);

  WarpAccumulators<Tile> acc;
  acc.clear();
  const int2 corner = tile_corner<Tile::kM, Tile::kN>(call);
  StageScales<Tile, (kBlocksA + 1) / 2> scales_a(scales.a, call, scales.across, range, [&](int set) {
    return corner.x + my_row + scale_row_of(lane, set, kBlocksA);
  });
  StageScales<Tile, (kBlocksB + 1) / 2> scales_b(scales.b, call, scales.across, range, [&](int set) {
    return corner.y + my_column + scale_column_of(lane, set, 2 * kBlocksB);
  });
  unsigned held_a[2][kBlocksA][4];
  unsigned held_b[2][kBlocksB][4];
  const auto load = [&](int set, unsigned stage, int step) {
#pragma unroll
    for (int i = 0; i < kBlocksA; ++i) load_matrices<false>(held_a[set][i], fragments_a.at(stage, i, step));
#pragma unroll
    for (int j = 0; j < kBlocksB; ++j) load_matrices<false>(held_b[set][j], fragments_b.at(stage, j, step));
  };
  const auto compute = [&](auto step) {
    constexpr int kSet = step.value % 2;
    constexpr int kWord = step.value / scales_a.kStepsOfWord;
    constexpr int kByte = step.value % scales_a.kStepsOfWord * scales_a.kOfStep;
    for_each_constant<kBlocksA>([&](auto i) {
      for_each_constant<2 * kBlocksB>([&](auto j) {
        // Boustrophedon: neighbours share the fragment of B.
        constexpr int kColumn = i.value % 2 == 0 ? j.value : 2 * kBlocksB - 1 - j.value;
        Op::template mma_scaled<i.value % 2, kColumn % 4, kByte>(
            acc.values[i.value][kColumn], held_a[kSet][i.value], held_b[kSet][kColumn / 2][kColumn % 2 * 2],
            held_b[kSet][kColumn / 2][kColumn % 2 * 2 + 1], scales_a.held[i.value / 2][kWord],
            scales_b.held[kColumn / 4][kWord]);
      });
    });
  };

  // As in mma_gemm(): whole stages are copied without a branch, interleaved with the MMAs.
  const int stages = range.y > 0 ? (range.y + Tile::kTileK - 1) / Tile::kTileK : 0;
  const auto fetch_ragged = [&](unsigned to, int stage) {
    const int2 first = tile_corner<Tile::kM, Tile::kN>(call);
    RowsA(call.a, call.lda, first.x, call.m, range).fetch_stage(to, stage, call.a_aligned, call.lda);
    RowsB(call.b, call.ldb, first.y, call.n, range).fetch_stage(to + kBytesA, stage, call.b_aligned, call.ldb);
  };
  WholeCopies<RowsA, RowsB> copies(call, corner, range);
  const int whole = copies.whole ? range.y / Tile::kTileK : 0;
  constexpr int kEach = (copies.kCount + kSteps - 2) / (kSteps - 1);
  const unsigned last = base + kAhead * Tile::kStageBytes;
  unsigned writing = base;
  const auto next_slot = [&](unsigned slot) { return slot == last ? base : slot + Tile::kStageBytes; };
  const auto end_stage = [&] {
    end_copies();
    copies.advance(call);
    writing = next_slot(writing);
  };
#pragma unroll 1
  for (int first = 0; first < kAhead; ++first) {
    if (first < whole) {
      copies.issue(call, writing, kBytesA, 0, copies.kCount);
    } else if (first < stages) {
      fetch_ragged(writing, first);
    }
    end_stage();
  }
  await_copies<kAhead - 1>();
  __syncthreads();
  unsigned reading = base;
  if (stages > 0) load(0, reading, 0);
  const auto compute_stage = [&](int stage, auto copying) {
    scales_a.begin_stage(stage);
    scales_b.begin_stage(stage);
    for_each_constant<kSteps>([&](auto step) {
      if constexpr (step.value == kSteps - 1) {
        await_copies<kAhead - 1>();
        __syncthreads();
        reading = next_slot(reading);
      }
      // Behind the last stage this reads what nobody uses.
      load((step.value + 1) % 2, reading, (step.value + 1) % kSteps);
      if (step.value < kSteps - 1 && copying) {
        copies.issue(call, writing, kBytesA, step.value * kEach, (step.value + 1) * kEach);
      }
      if constexpr (step.value == kSteps - 2) end_stage();
      compute(step);
      scales_a.end_step(stage, step.value);
      scales_b.end_step(stage, step.value);
    });
  };
  int stage = 0;
#pragma unroll 1
  for (; stage + kAhead < whole; ++stage) compute_stage(stage, true_type());
#pragma unroll 1
  for (; stage < stages; ++stage) {
    if (stage + kAhead < stages) fetch_ragged(writing, stage + kAhead);
    compute_stage(stage, false_type());
  }
  await_copies<0>();
  __syncthreads();
  const int2 here = tile_corner<Tile::kM, Tile::kN>(call);
  write_warp<Tile>(call, acc, ring, here.x + my_row, here.y + my_column);
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

#define PBPROBE_MMA_BLOCKS_TILE(name, blocks, ...)                                                                  \
  PBPROBE_MMA_TILE(name, blocks, __VA_ARGS__)                                                                       \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::Tile_##name::kThreads,                      \
                                               pbprobe::PBPROBE_TARGET::kBlocks_##name)                             \
      name##_nt(const __grid_constant__ pbprobe::GpuCall call, const __grid_constant__ pbprobe::GpuBlockScales s) { \
    pbprobe::PBPROBE_TARGET::mma_blocks_gemm<pbprobe::PBPROBE_TARGET::Tile_##name>(call, s);                        \
  }
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
