// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Main loop of mma.sync with scales of blocks along k, for operands along k only. It follows mma_gemm() (mma.cuh), but
// `Scales` multiplies, with the scales of a stage or of a step of 32 bytes of k. Family header: see mma.cuh.
#pragma once

#include "kernels/cuda/block_scales.hpp"
#include "kernels/cuda/mma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

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

template <class Tile, class Scales>
__device__ inline void mma_scaled_gemm(const GpuCall& call, const typename Scales::Given& given) {
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
  const int my_row = warp % kWarpsDown * Tile::kWarpM;
  const int my_column = warp / kWarpsDown * Tile::kWarpN;
  const Fragments<Tile::kM, Tile::kLineBytes, true> fragments_a(my_row, true, 0);
  const Fragments<Tile::kN, Tile::kLineBytes, true> fragments_b(my_column, false, kBytesA);

  WarpAccumulators<Tile> acc;
  acc.clear();
  const int2 corner = tile_corner<Tile::kM, Tile::kN>(call);
  Scales scales(given, call, range, corner.x + my_row, corner.y + my_column);
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
    for_each_constant<kBlocksA>([&](auto i) {
      for_each_constant<2 * kBlocksB>([&](auto j) {
        // Boustrophedon: neighbours share the fragment of B.
        constexpr int kColumn = i.value % 2 == 0 ? j.value : 2 * kBlocksB - 1 - j.value;
        scales.template mma<i.value, kColumn, step.value>(acc.values[i.value][kColumn], held_a[kSet][i.value],
                                                          held_b[kSet][kColumn / 2][kColumn % 2 * 2],
                                                          held_b[kSet][kColumn / 2][kColumn % 2 * 2 + 1]);
      });
    });
  };

  // Whole stages are copied without a branch, interleaved with the MMAs, as in mma_gemm().
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
    scales.begin_stage(stage);
    for_each_constant<kSteps>([&](auto step) {
      if constexpr (step.value == kSteps - 1) {
        await_copies<kAhead - 1>();
        __syncthreads();
        reading = next_slot(reading);
      }
      // After the last stage, the fragments that this loads are not used.
      load((step.value + 1) % 2, reading, (step.value + 1) % kSteps);
      if (step.value < kSteps - 1 && copying) {
        copies.issue(call, writing, kBytesA, step.value * kEach, (step.value + 1) * kEach);
      }
      if constexpr (step.value == kSteps - 2) end_stage();
      compute(step);
      scales.end_step(stage, step.value);
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

// A tile of MmaTile's parameters, with Scales<Tile>.
#define PBPROBE_MMA_SCALED_TILE(name, scales, blocks, ...)                                         \
  PBPROBE_MMA_TILE(name, blocks, __VA_ARGS__)                                                      \
  namespace pbprobe::PBPROBE_TARGET {                                                              \
  namespace {                                                                                      \
  using Scales_##name = scales<Tile_##name>;                                                       \
  }                                                                                                \
  }                                                                                                \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::Tile_##name::kThreads,     \
                                               pbprobe::PBPROBE_TARGET::kBlocks_##name)            \
      name##_nt(const __grid_constant__ pbprobe::GpuCall call,                                     \
                const __grid_constant__ pbprobe::PBPROBE_TARGET::Scales_##name::Given given) {     \
    pbprobe::PBPROBE_TARGET::mma_scaled_gemm<pbprobe::PBPROBE_TARGET::Tile_##name,                 \
                                             pbprobe::PBPROBE_TARGET::Scales_##name>(call, given); \
  }
