// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm90: wgmma FP8 m64nNk32 with FP32 scales of 1 × 128 and 128 × 128 blocks: in clusters with swapped operands, and
// persistent for many tiles. A[M,K], B[N,K] → C[M,N].
#define PBPROBE_TARGET sm90

#include "kernels/cuda/hopper_cluster.cuh"
#include "kernels/cuda/hopper_fp8.cuh"

// Clusters: type, rows of a tile, stages, warpgroups that compute 64 columns each. Persistent: type, parts of 64 rows
// of a warpgroup, columns of a tile, stages, blocks of a cluster, a warpgroup's buffers of C.
#define PBPROBE_FP8_BLOCKS(name, scales, op)                                                 \
  PBPROBE_CLUSTER_KMAJOR(wgmma_##name##_cluster_16x64, ClusterTile<op, 16, 16, 1, scales>)   \
  PBPROBE_CLUSTER_KMAJOR(wgmma_##name##_cluster_32x64, ClusterTile<op, 32, 14, 1, scales>)   \
  PBPROBE_CLUSTER_KMAJOR(wgmma_##name##_cluster_64x64, ClusterTile<op, 64, 12, 1, scales>)   \
  PBPROBE_CLUSTER_KMAJOR(wgmma_##name##_cluster_64x128, ClusterTile<op, 64, 8, 2, scales>)   \
  PBPROBE_CLUSTER_KMAJOR(wgmma_##name##_cluster_128x128, ClusterTile<op, 128, 5, 2, scales>) \
  PBPROBE_FP8_KMAJOR(wgmma_##name##_128x128, op, 1, 128, 5, 2, 2, scales)
PBPROBE_FP8_BLOCKS(e4m3_rows_squares, BlockScalesRowsSquares, WgmmaE4m3)
PBPROBE_FP8_BLOCKS(e4m3_squares_rows, BlockScalesSquaresRows, WgmmaE4m3)
PBPROBE_FP8_BLOCKS(e4m3_rows_rows, BlockScalesRowsRows, WgmmaE4m3)
// No recipe of a model multiplies E5M2 by E5M2: one tile for each kind of scales.
#define PBPROBE_FP8_BLOCKS_E5M2(name, scales) \
  PBPROBE_CLUSTER_KMAJOR(wgmma_e5m2_##name##_cluster_64x128, ClusterTile<WgmmaE5m2, 64, 8, 2, scales>)
PBPROBE_FP8_BLOCKS_E5M2(rows_squares, BlockScalesRowsSquares)
PBPROBE_FP8_BLOCKS_E5M2(squares_rows, BlockScalesSquaresRows)
PBPROBE_FP8_BLOCKS_E5M2(rows_rows, BlockScalesRowsRows)
