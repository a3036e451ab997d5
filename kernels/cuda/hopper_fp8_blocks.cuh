// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: wgmma of FP8 with FP32 scales of blocks: 1 × 128 or 128 × 128, of A and of B. The kernel of hopper_fp8.cuh
// adds sums of 128 products in FP32 registers: here each is first multiplied by the scales of its block of k, which
// come from memory two stages ahead. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/block_scales.hpp"
#include "kernels/cuda/hopper_fp8.cuh"
#include "kernels/cuda/hopper_skinny.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// Scales of one warpgroup, for tiles that no border of 128 columns cuts. kSquares: 128 rows, or columns, share a scale.
template <class Tile, bool kSquaresA, bool kSquaresB>
struct ScaledSums {
  using Scales = GpuFp32Blocks;
  static_assert(128 % Tile::kColumns == 0);
  static constexpr int kHalves = kSquaresA ? 1 : 2;  // rows of a lane in each 16
  // Squares share one scale for all columns. Else each lane holds one of each 32 columns, and shuffles distribute them.
  static constexpr int kHeldB = kSquaresB ? 1 : Tile::kColumns / 32;
  const Scales& scales;
  int m, n;
  int row, column;  // first of this lane
  int block, end;   // blocks of 128 k: the next one to fetch; end of the part
  float a[Tile::kParts][kHalves], next_a[Tile::kParts][kHalves];
  float b[kHeldB], next_b[kHeldB];

  __device__ ScaledSums(const Scales& of, const GpuCall& call, int first_row, int first_column, int first_block,
                        int end_block)
      : scales(of), m(call.m), n(call.n), block(first_block), end(end_block) {
    const int thread = static_cast<int>(threadIdx.x) % 128;
    row = first_row + (kSquaresA ? 0 : thread / 32 * 16 + thread % 32 / 4);
    column = first_column + (kSquaresB ? 0 : thread % 32);
    fetch(a, b);
    fetch(next_a, next_b);
  }
  // Clamps to the last row and column; results beyond are not stored.
  __device__ void fetch(float (&to_a)[Tile::kParts][kHalves], float (&to_b)[kHeldB]) {
    if (block >= end) return;
#pragma unroll
    for (int part = 0; part < Tile::kParts; ++part) {
#pragma unroll
      for (int half = 0; half < kHalves; ++half) {
        const int line = min(row + part * 64 + half * 8, m - 1);
        to_a[part][half] = scales.a[kSquaresA ? line / 128 * scales.lda + block : block * scales.lda + line];
      }
    }
#pragma unroll
    for (int i = 0; i < kHeldB; ++i) {
      const int line = min(column + i * 32, n - 1);
      to_b[i] = scales.b[kSquaresB ? line / 128 * scales.ldb + block : block * scales.ldb + line];
    }
    ++block;
  }
  // Behind a stage: what is copied here was asked for a whole stage ago, so that no wgmma waits for memory.
  __device__ void fetch_next() {
#pragma unroll
    for (int part = 0; part < Tile::kParts; ++part) {
#pragma unroll
      for (int half = 0; half < kHalves; ++half) a[part][half] = next_a[part][half];
    }
#pragma unroll
    for (int i = 0; i < kHeldB; ++i) b[i] = next_b[i];
    fetch(next_a, next_b);
  }
  __device__ void add(float (&acc)[Tile::kColumns / 2], const float (&sum)[Tile::kColumns / 2], int part) const {
#pragma unroll
    for (int eight = 0; eight < Tile::kColumns / 8; ++eight) {
      float of_columns[2] = {b[0], b[0]};
      if constexpr (!kSquaresB) {
        const int lane = eight % 4 * 8 + static_cast<int>(threadIdx.x) % 4 * 2;
        of_columns[0] = __shfl_sync(kWarp, b[eight / 4], lane);
        of_columns[1] = __shfl_sync(kWarp, b[eight / 4], lane + 1);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float scale = a[part][i / 2 % kHalves] * of_columns[i % 2];
        acc[eight * 4 + i] = __fmaf_rn(sum[eight * 4 + i], scale, acc[eight * 4 + i]);
      }
    }
  }
};
template <class Tile>
using RowsSquares = ScaledSums<Tile, false, true>;
template <class Tile>
using SquaresRows = ScaledSums<Tile, true, false>;
template <class Tile>
using RowsRows = ScaledSums<Tile, false, false>;

// Scales for small M: the warpgroup's 64 columns of B share one scale of 128 columns; each row of A has its own.
template <class Tile>
struct ScaledSkinnySums {
  using Scales = GpuFp32Blocks;
  static constexpr int kHeldA = (Tile::kRows + 31) / 32;  // a lane holds one of each 32 rows
  const Scales& scales;
  int m, column;
  int block, end;  // blocks of 128 k: the next one to fetch; end of k
  float a[Tile::kLines][kHeldA], next_a[Tile::kLines][kHeldA];
  float b[Tile::kLines], next_b[Tile::kLines];

  __device__ ScaledSkinnySums(const Scales& of, const GpuCall& call, int first_column, int first_block)
      : scales(of), m(call.m), column(min(first_column, call.n - 1)), block(first_block), end((call.k + 127) / 128) {
    fetch_next();
  }
  __device__ void fetch_next() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int line = 0; line < Tile::kLines; ++line) {
      const bool there = block + line < end;
      next_b[line] = there ? scales.b[column / 128 * scales.ldb + block + line] : 0;
#pragma unroll
      for (int i = 0; i < kHeldA; ++i) {
        next_a[line][i] = there ? scales.a[(block + line) * scales.lda + min(lane + i * 32, m - 1)] : 0;
      }
    }
    block += Tile::kLines;
  }
  __device__ void begin_stage() {
#pragma unroll
    for (int line = 0; line < Tile::kLines; ++line) {
      b[line] = next_b[line];
#pragma unroll
      for (int i = 0; i < kHeldA; ++i) a[line][i] = next_a[line][i];
    }
    fetch_next();
  }
  // Rows from `first` on.
  template <int kCount>
  __device__ void add(float (&acc)[kCount], const float (&sum)[kCount], int line, int first) const {
#pragma unroll
    for (int eight = 0; eight < kCount / 4; ++eight) {
      const int row = first + eight * 8;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int lane = row % 32 + static_cast<int>(threadIdx.x) % 4 * 2 + i;
        const float scale = __shfl_sync(kWarp, a[line][row / 32], lane) * b[line];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float& to = acc[eight * 4 + half * 2 + i];
          to = __fmaf_rn(sum[eight * 4 + half * 2 + i], scale, to);
        }
      }
    }
  }
};

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

// A kernel of Tile_name, by function<Tile_name, …>(…, scales).
#define PBPROBE_FP8_BLOCKS_KERNEL(name, function, ...)                                                   \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::Tile_##name::kThreads,           \
                                               pbprobe::PBPROBE_TARGET::Tile_##name::kBlocks)            \
      name##_nt(PBPROBE_PARAMETER pbprobe::GpuTileCall tiles, PBPROBE_PARAMETER pbprobe::GpuTensorMap a, \
                PBPROBE_PARAMETER pbprobe::GpuTensorMap b, PBPROBE_PARAMETER pbprobe::GpuTensorMap c,    \
                PBPROBE_PARAMETER pbprobe::GpuFp32Blocks scales) {                                       \
    using namespace pbprobe::PBPROBE_TARGET;                                                             \
    function<Tile_##name, true, true, __VA_ARGS__>(tiles, a, b, c, scales);                              \
  }
#define PBPROBE_FP8_BLOCKS_TILE(name, sums, ...) \
  PBPROBE_TMA_TILE(name, Fp8Tile<__VA_ARGS__>)   \
  PBPROBE_FP8_BLOCKS_KERNEL(name, fp8_gemm, sums<Tile_##name>)
// Unaligned rows of B are copied first: read by threads, they and the scales would take too many registers.
#define PBPROBE_FP8_BLOCKS_SMALL_M(name, ...)     \
  PBPROBE_TMA_TILE(name, SkinnyTile<__VA_ARGS__>) \
  PBPROBE_FP8_BLOCKS_KERNEL(name, small_m_gemm, false, ScaledSkinnySums<Tile_##name>)
