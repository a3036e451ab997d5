// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm75: mma.sync FP16 m16n8k8, INT8 m8n8k16; FP32 and widened BF16 by fma.rn.f32.
// A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N]. Source: PTX ISA, mma, fma.
#define PBPROBE_TARGET sm75
#define PBPROBE_STAGED

#include "kernels/cuda/gemv.cuh"
#include "kernels/cuda/passes.cuh"
#include "kernels/cuda/peak_mma.cuh"
#include "kernels/cuda/simt.cuh"
#include "kernels/cuda/simt_small.cuh"
#include "kernels/cuda/simt_thin.cuh"

// Blocks of an SM, type, rows and columns of a block and of a warp, bytes of k in a stage, stages.
PBPROBE_MMA_LAYOUTS(gemm_fp16_128x128, 1, Fp16, 128, 128, 64, 32, 64, 2)
PBPROBE_MMA_LAYOUTS(gemm_fp16_64x64, 2, Fp16, 64, 64, 32, 32, 64, 2)
PBPROBE_MMA_PEAK(fp16, Fp16)
PBPROBE_MMA_KMAJOR(gemm_int8_128x128, 1, Int8, 128, 128, 64, 32, 64, 2)
PBPROBE_MMA_KMAJOR(gemm_int8_64x64, 2, Int8, 64, 64, 32, 32, 64, 2)
PBPROBE_MMA_PEAK(int8, Int8)
PBPROBE_SIMT_LAYOUTS(gemm_bf16_128x128, SimtLarge, WidenedBf16)
