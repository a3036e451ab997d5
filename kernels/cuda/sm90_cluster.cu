// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm90: wgmma with swapped operands in clusters that share operands and split k. BF16 and FP16 m64nNk16, TF32 m64nNk8,
// INT8 and FP8 m64nNk32. A[M,K], B[N,K] or (BF16, FP16) [K,N] → C[M,N].
#define PBPROBE_TARGET sm90

#include "kernels/cuda/hopper_cluster.cuh"

// Kind of kernel (which layouts of B), type; rows of a tile, stages, warpgroups that compute 64 columns each.
// clang-format off
#define PBPROBE_CLUSTER_KERNELS(kind, name, op) \
  kind(wgmma_##name##_cluster_16x64, ClusterTile<op, 16, 16, 1>) \
  kind(wgmma_##name##_cluster_32x64, ClusterTile<op, 32, 16, 1>) \
  kind(wgmma_##name##_cluster_48x64, ClusterTile<op, 48, 14, 1>) \
  kind(wgmma_##name##_cluster_64x64, ClusterTile<op, 64, 12, 1>) \
  kind(wgmma_##name##_cluster_64x128, ClusterTile<op, 64, 8, 2>) \
  kind(wgmma_##name##_cluster_80x64, ClusterTile<op, 80, 11, 1>) \
  kind(wgmma_##name##_cluster_80x128, ClusterTile<op, 80, 7, 2>) \
  kind(wgmma_##name##_cluster_96x64, ClusterTile<op, 96, 10, 1>) \
  kind(wgmma_##name##_cluster_96x128, ClusterTile<op, 96, 7, 2>) \
  kind(wgmma_##name##_cluster_112x64, ClusterTile<op, 112, 9, 1>) \
  kind(wgmma_##name##_cluster_112x128, ClusterTile<op, 112, 6, 2>) \
  kind(wgmma_##name##_cluster_112x192, ClusterTile<op, 112, 4, 3>) \
  kind(wgmma_##name##_cluster_128x64, ClusterTile<op, 128, 8, 1>) \
  kind(wgmma_##name##_cluster_128x128, ClusterTile<op, 128, 6, 2>) \
  kind(wgmma_##name##_cluster_144x128, ClusterTile<op, 144, 5, 2>) \
  kind(wgmma_##name##_cluster_160x128, ClusterTile<op, 160, 5, 2>) \
  kind(wgmma_##name##_cluster_192x128, ClusterTile<op, 192, 4, 2>)
// With three warpgroups two can multiply while one adds a stage's sums in FP32.
#define PBPROBE_FP8_CLUSTER_KERNELS(kind, name, op) \
  PBPROBE_CLUSTER_KERNELS(kind, name, op) \
  kind(wgmma_##name##_cluster_16x192, ClusterTile<op, 16, 7, 3>) \
  kind(wgmma_##name##_cluster_32x192, ClusterTile<op, 32, 7, 3>) \
  kind(wgmma_##name##_cluster_64x192, ClusterTile<op, 64, 6, 3>) \
  kind(wgmma_##name##_cluster_80x192, ClusterTile<op, 80, 5, 3>) \
  kind(wgmma_##name##_cluster_96x192, ClusterTile<op, 96, 5, 3>)
// clang-format on
PBPROBE_CLUSTER_KERNELS(PBPROBE_CLUSTER_LAYOUTS, bf16, WgmmaBf16)
PBPROBE_CLUSTER_KERNELS(PBPROBE_CLUSTER_LAYOUTS, fp16, WgmmaFp16)
PBPROBE_CLUSTER_KERNELS(PBPROBE_CLUSTER_KMAJOR, int8, WgmmaInt8)
PBPROBE_CLUSTER_KERNELS(PBPROBE_CLUSTER_KMAJOR, tf32, WgmmaTf32)
PBPROBE_FP8_CLUSTER_KERNELS(PBPROBE_CLUSTER_KMAJOR, e4m3, WgmmaE4m3)
