// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#define PBPROBE_TARGET sm89

#include "kernels/cuda/mma_fp8.cuh"
#include "kernels/cuda/mma_fp8_blocks.cuh"

PBPROBE_MMA_KERNELS(PBPROBE_MMA_SIZES_100KB)
PBPROBE_SIMT_LAYOUTS(gemm_fp32_words_128x128, SimtWords, PlainFp32)
PBPROBE_MMA_FP8_KERNELS(PBPROBE_MMA_SIZES_100KB)
PBPROBE_MMA_FP8_BLOCKS_KERNELS
