// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm90: wgmma FP8 m64nNk32 with FP32 scales of 1 × 128 and 128 × 128 blocks. A[M,K], B[N,K] → C[M,N].
#define PBPROBE_TARGET sm90

#include "kernels/cuda/hopper_fp8_blocks.cuh"

// Arguments: type, parts of 64 rows of a warpgroup, columns of a tile, stages, blocks of a cluster. 256 rows exist only
// if 128 columns share a scale: otherwise registers would spill. Small M, for DeepSeek's recipe: arguments as in
// sm90.cu.
#define PBPROBE_FP8_BLOCKS_TILES(name, sums, op)                          \
  PBPROBE_FP8_BLOCKS_TILE(wgmma_##name##_128x128, sums, op, 1, 128, 5, 1) \
  PBPROBE_FP8_BLOCKS_TILE(wgmma_##name##_128x64, sums, op, 1, 64, 7, 1)
#define PBPROBE_FP8_BLOCKS(name, op)                                                          \
  PBPROBE_FP8_BLOCKS_TILE(wgmma_##name##_rows_squares_256x128, RowsSquares, op, 2, 128, 4, 2) \
  PBPROBE_FP8_BLOCKS_TILES(name##_rows_squares, RowsSquares, op)                              \
  PBPROBE_FP8_BLOCKS_TILES(name##_squares_rows, SquaresRows, op)                              \
  PBPROBE_FP8_BLOCKS_TILES(name##_rows_rows, RowsRows, op)                                    \
  PBPROBE_FP8_BLOCKS_SMALL_M(wgmma_##name##_rows_squares_small_m16, op, 16, 5, 1, 2, 2)       \
  PBPROBE_FP8_BLOCKS_SMALL_M(wgmma_##name##_rows_squares_small_m64, op, 64, 4, 2, 2, 1)       \
  PBPROBE_FP8_BLOCKS_SMALL_M(wgmma_##name##_rows_squares_small_m128, op, 128, 6, 2, 1, 1)
PBPROBE_FP8_BLOCKS(e4m3, WgmmaE4m3)
PBPROBE_FP8_BLOCKS(e5m2, WgmmaE5m2)
