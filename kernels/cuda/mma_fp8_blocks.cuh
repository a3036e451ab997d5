// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// FP8 by mma.sync m16n8k32, since 8.9, with FP32 scales of blocks: 1 × 128 or 128 × 128, of A and of B. As in
// mma_fp8.cuh each step of 32 products starts from zero; here it is multiplied by the scales of its block of k when it
// is added in FP32. A stage is a block. Family header: see mma.cuh.
#pragma once

#include "kernels/cuda/mma_scaled.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

#define PBPROBE_MMA_FP8_PRODUCTS(name, type)                                                             \
  struct name {                                                                                          \
    using Accumulator = float;                                                                           \
    static constexpr int kElement = 1;                                                                   \
    __device__ static void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) { \
      asm volatile("mma.sync.aligned.m16n8k32.row.col.f32." type "." type                                \
                   ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"            \
                   : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])                              \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(0.0F));           \
    }                                                                                                    \
  };
PBPROBE_MMA_FP8_PRODUCTS(ProductsE4m3, "e4m3")
PBPROBE_MMA_FP8_PRODUCTS(ProductsE5m2, "e5m2")
#undef PBPROBE_MMA_FP8_PRODUCTS

// Scales of one warp. kSquares: 128 rows, or columns, share a scale; no tile reaches over their border.
template <class Tile, bool kSquaresA, bool kSquaresB>
struct Fp32Scales {
  using Given = GpuFp32Blocks;
  static_assert(Tile::kTileK == 128 && 128 % Tile::kM == 0 && 128 % Tile::kN == 0 && Tile::kWarpN <= 32);
  static constexpr int kBlocksA = Tile::kWarpM / 16;
  static constexpr int kHalves = kSquaresA ? 1 : 2;  // rows of a lane in each 16
  const Given& given;
  int m, n;
  int row, column;  // first of this lane
  int block, end;   // blocks of 128 k: the next one to fetch; end of the part
  float a[kBlocksA][kHalves], next_a[kBlocksA][kHalves];
  float b, next_b;  // squares: one of all columns; else one a lane, distributed by shuffles

  __device__ Fp32Scales(const Given& of, const GpuCall& call, int2 range, int first_row, int first_column)
      : given(of), m(call.m), n(call.n), block(range.x / 128), end((range.x + range.y + 127) / 128) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    row = first_row + (kSquaresA ? 0 : lane / 4);
    column = first_column + (kSquaresB ? 0 : lane % Tile::kWarpN);
    fetch_next();
  }
  // Clamps to the last row and column; results beyond are not stored.
  __device__ void fetch_next() {
    if (block >= end) return;
#pragma unroll
    for (int i = 0; i < kBlocksA; ++i) {
#pragma unroll
      for (int half = 0; half < kHalves; ++half) {
        const int line = min(row + i * 16 + half * 8, m - 1);
        next_a[i][half] = given.a[kSquaresA ? line / 128 * given.lda + block : block * given.lda + line];
      }
    }
    const int line = min(column, n - 1);
    next_b = given.b[kSquaresB ? line / 128 * given.ldb + block : block * given.ldb + line];
    ++block;
  }
  __device__ void begin_stage(int) {
#pragma unroll
    for (int i = 0; i < kBlocksA; ++i) {
#pragma unroll
      for (int half = 0; half < kHalves; ++half) a[i][half] = next_a[i][half];
    }
    b = next_b;
    fetch_next();
  }
  __device__ void end_step(int, int) {}
  // Multiplies block kRows of 16 rows by block kColumns of 8 columns of the warp.
  template <int kRows, int kColumns, int kStep>
  __device__ void mma(float (&c)[4], const unsigned (&of_a)[4], unsigned b0, unsigned b1) const {
    float sum[4];
    Tile::Op::multiply(sum, of_a, b0, b1);
    float of_columns[2] = {b, b};
    if constexpr (!kSquaresB) {
      const int lane = kColumns * 8 + static_cast<int>(threadIdx.x) % 4 * 2;
      of_columns[0] = __shfl_sync(0xffffffffU, b, lane);
      of_columns[1] = __shfl_sync(0xffffffffU, b, lane + 1);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) c[i] = __fmaf_rn(sum[i], a[kRows][i / 2 % kHalves] * of_columns[i % 2], c[i]);
  }
};
template <class Tile>
using RowsSquares = Fp32Scales<Tile, false, true>;
template <class Tile>
using SquaresRows = Fp32Scales<Tile, true, false>;
template <class Tile>
using RowsRows = Fp32Scales<Tile, false, false>;

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

// A large tile where 128 columns share a scale (else registers would be spilled), a small one, and one for up to 16
// rows.
#define PBPROBE_MMA_FP8_BLOCKS_TILES(name, scales, type)                                \
  PBPROBE_MMA_SCALED_TILE(gemm_##name##_64x64, scales, 2, type, 64, 64, 32, 32, 128, 3) \
  PBPROBE_MMA_SCALED_TILE(gemm_##name##_16x64, scales, 1, type, 16, 64, 16, 16, 128, 8)
#define PBPROBE_MMA_FP8_BLOCKS_TYPE(name, type)                                                             \
  PBPROBE_MMA_SCALED_TILE(gemm_##name##_rows_squares_128x64, RowsSquares, 1, type, 128, 64, 32, 32, 128, 3) \
  PBPROBE_MMA_FP8_BLOCKS_TILES(name##_rows_squares, RowsSquares, type)                                      \
  PBPROBE_MMA_FP8_BLOCKS_TILES(name##_squares_rows, SquaresRows, type)                                      \
  PBPROBE_MMA_FP8_BLOCKS_TILES(name##_rows_rows, RowsRows, type)
#define PBPROBE_MMA_FP8_BLOCKS_KERNELS            \
  PBPROBE_MMA_FP8_BLOCKS_TYPE(e4m3, ProductsE4m3) \
  PBPROBE_MMA_FP8_BLOCKS_TYPE(e5m2, ProductsE5m2)
