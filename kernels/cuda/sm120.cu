// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#define PBPROBE_TARGET sm120
// One layout of each would spill otherwise.
#define PBPROBE_THIN_BLOCKS 2
#define PBPROBE_MEDIUM_SQUARES 1

#include "kernels/cuda/mma_fp8.cuh"
#include "kernels/cuda/mma_fp8_blocks.cuh"
#include "kernels/cuda/tma_mma.cuh"

PBPROBE_MMA_KERNELS(PBPROBE_MMA_SIZES_100KB)
PBPROBE_MMA_FP8_KERNELS(PBPROBE_MMA_SIZES_100KB)
PBPROBE_MMA_FP8_BLOCKS_KERNELS
PBPROBE_TMA_MMA_KERNELS
