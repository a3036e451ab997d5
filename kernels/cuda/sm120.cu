// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm120: mma.sync BF16 and FP16 m16n8k16, TF32 m16n8k8, INT8 m16n8k32; FP32 by fma.rn.f32.
// A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N]. Source: PTX ISA, mma, fma.
#define PBPROBE_TARGET sm120

#include "kernels/cuda/passes.cuh"
#include "kernels/cuda/peak_mma.cuh"
#include "kernels/cuda/simt.cuh"

// Blocks of an SM, type, rows and columns of a block and of a warp, bytes of k in a stage, stages.
PBPROBE_MMA_LAYOUTS(gemm_bf16_128x128, 2, Bf16, 128, 128, 64, 64, 64, 3)
PBPROBE_MMA_LAYOUTS(gemm_bf16_64x64, 2, Bf16, 64, 64, 32, 32, 128, 3)
PBPROBE_MMA_LAYOUTS(gemm_bf16_16x64, 1, Bf16, 16, 64, 16, 16, 128, 8)
PBPROBE_MMA_PEAK(bf16, Bf16)
PBPROBE_MMA_LAYOUTS(gemm_fp16_128x128, 2, Fp16, 128, 128, 64, 64, 64, 3)
PBPROBE_MMA_LAYOUTS(gemm_fp16_64x64, 2, Fp16, 64, 64, 32, 32, 128, 3)
PBPROBE_MMA_LAYOUTS(gemm_fp16_16x64, 1, Fp16, 16, 64, 16, 16, 128, 8)
PBPROBE_MMA_PEAK(fp16, Fp16)
PBPROBE_MMA_KMAJOR(gemm_int8_128x128, 2, Int8, 128, 128, 64, 64, 64, 3)
PBPROBE_MMA_KMAJOR(gemm_int8_64x64, 2, Int8, 64, 64, 32, 32, 128, 3)
PBPROBE_MMA_KMAJOR(gemm_int8_16x64, 1, Int8, 16, 64, 16, 16, 128, 8)
PBPROBE_MMA_PEAK(int8, Int8)
PBPROBE_MMA_KMAJOR(gemm_tf32_128x128, 2, Tf32, 128, 128, 64, 64, 64, 3)
PBPROBE_MMA_KMAJOR(gemm_tf32_64x64, 2, Tf32, 64, 64, 32, 32, 128, 3)
PBPROBE_MMA_KMAJOR(gemm_tf32_16x64, 1, Tf32, 16, 64, 16, 16, 128, 8)
PBPROBE_MMA_PEAK(tf32, Tf32)
