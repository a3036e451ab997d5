// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#define PBPROBE_TARGET sm80

#include "kernels/cuda/mma_kernels.cuh"

PBPROBE_MMA_KERNELS(PBPROBE_MMA_SIZES_164KB)
PBPROBE_SIMT_LAYOUTS(gemm_fp32_words_128x128, SimtWords, PlainFp32)
