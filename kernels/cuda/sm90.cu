// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm90: wgmma BF16 m64nNk16, TF32 m64nNk8, INT8 m64nNk32, with operands by tensor copies; mma.sync BF16 and FP16
// m16n8k16, TF32 m16n8k8, INT8 m16n8k32, in large tiles with operands by tensor copies too; FP32 by fma.rn.f32.
// A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N]. Source: PTX ISA, mma, fma.
#define PBPROBE_TARGET sm90

#include "kernels/cuda/hopper_mma.cuh"
#include "kernels/cuda/hopper_skinny.cuh"
#include "kernels/cuda/hopper_turns.cuh"
#include "kernels/cuda/passes.cuh"
#include "kernels/cuda/peak_mma.cuh"
#include "kernels/cuda/peak_wgmma.cuh"
#include "kernels/cuda/simt.cuh"
#include "kernels/cuda/tensor_probes.cuh"

// Blocks of an SM, type, rows and columns of a block and of a warp, bytes of k in a stage, stages.
PBPROBE_MMA_LAYOUTS(gemm_bf16_128x128, 2, Bf16, 128, 128, 64, 64, 128, 3)
PBPROBE_MMA_LAYOUTS(gemm_bf16_64x64, 3, Bf16, 64, 64, 32, 32, 128, 4)
PBPROBE_MMA_LAYOUTS(gemm_bf16_16x64, 2, Bf16, 16, 64, 16, 16, 128, 8)
PBPROBE_MMA_PEAK(bf16, Bf16)
PBPROBE_MMA_LAYOUTS(gemm_fp16_128x128, 2, Fp16, 128, 128, 64, 64, 128, 3)
PBPROBE_MMA_LAYOUTS(gemm_fp16_64x64, 3, Fp16, 64, 64, 32, 32, 128, 4)
PBPROBE_MMA_LAYOUTS(gemm_fp16_16x64, 2, Fp16, 16, 64, 16, 16, 128, 8)
PBPROBE_MMA_PEAK(fp16, Fp16)
PBPROBE_MMA_KMAJOR(gemm_int8_128x128, 2, Int8, 128, 128, 64, 64, 128, 3)
PBPROBE_MMA_KMAJOR(gemm_int8_64x64, 3, Int8, 64, 64, 32, 32, 128, 4)
PBPROBE_MMA_KMAJOR(gemm_int8_16x64, 2, Int8, 16, 64, 16, 16, 128, 8)
PBPROBE_MMA_PEAK(int8, Int8)
PBPROBE_MMA_KMAJOR(gemm_tf32_128x128, 2, Tf32, 128, 128, 64, 64, 128, 3)
PBPROBE_MMA_KMAJOR(gemm_tf32_64x64, 3, Tf32, 64, 64, 32, 32, 128, 4)
PBPROBE_MMA_KMAJOR(gemm_tf32_16x64, 2, Tf32, 16, 64, 16, 16, 128, 8)
PBPROBE_MMA_PEAK(tf32, Tf32)

// Type, rows and columns of a tile, stages.
PBPROBE_FED_LAYOUTS(gemm_bf16_256x128, Bf16, 256, 128, 4)
PBPROBE_FED_LAYOUTS(gemm_fp16_256x128, Fp16, 256, 128, 4)
PBPROBE_FED_KMAJOR(gemm_int8_256x128, Int8, 256, 128, 4)
PBPROBE_FED_KMAJOR(gemm_tf32_256x128, Tf32, 256, 128, 4)

// Type, columns of a tile, stages, blocks of a cluster, a warpgroup's chunks of C; by turns: type, stages; of few rows:
// blocks of an SM, type, rows, stages, warpgroups that multiply, lines of 128 bytes of k in a stage.
PBPROBE_HOPPER_LAYOUTS(wgmma_bf16_128x256, WgmmaBf16, 256, 4, 2, 2)
PBPROBE_HOPPER_LAYOUTS(wgmma_bf16_128x192, WgmmaBf16, 192, 4, 2, 3, true)
PBPROBE_HOPPER_LAYOUTS(wgmma_bf16_128x128, WgmmaBf16, 128, 5, 1, 2)
PBPROBE_HOPPER_LAYOUTS(wgmma_bf16_128x64, WgmmaBf16, 64, 7, 1, 2)
PBPROBE_TURNS_LAYOUTS(wgmma_bf16_turns, WgmmaBf16, 6)
PBPROBE_SKINNY_LAYOUTS(wgmma_bf16_few16, 2, WgmmaBf16, 16, 5, 1, 2)
PBPROBE_SKINNY_LAYOUTS(wgmma_bf16_few64, 1, WgmmaBf16, 64, 4, 2, 2)
PBPROBE_SKINNY_LAYOUTS(wgmma_bf16_few128, 1, WgmmaBf16, 128, 6, 2, 1)
PBPROBE_WGMMA_PEAK(bf16, WgmmaBf16, Bf16)
PBPROBE_HOPPER_KMAJOR(wgmma_int8_128x256, WgmmaInt8, 256, 4, 2, 2)
PBPROBE_HOPPER_KMAJOR(wgmma_int8_128x128, WgmmaInt8, 128, 5, 1, 2)
PBPROBE_HOPPER_KMAJOR(wgmma_int8_128x64, WgmmaInt8, 64, 7, 1, 2)
PBPROBE_TURNS_KMAJOR(wgmma_int8_turns, WgmmaInt8, 6)
PBPROBE_SKINNY_SKEWED(wgmma_int8_few16, 2, WgmmaInt8, 16, 5, 1, 2)
PBPROBE_SKINNY_SKEWED(wgmma_int8_few64, 1, WgmmaInt8, 64, 4, 2, 2)
PBPROBE_SKINNY_SKEWED(wgmma_int8_few128, 1, WgmmaInt8, 128, 6, 2, 1)
PBPROBE_WGMMA_PEAK(int8, WgmmaInt8, Int8)
PBPROBE_HOPPER_KMAJOR(wgmma_tf32_128x256, WgmmaTf32, 256, 4, 2, 2)
PBPROBE_HOPPER_KMAJOR(wgmma_tf32_128x128, WgmmaTf32, 128, 5, 1, 2)
PBPROBE_HOPPER_KMAJOR(wgmma_tf32_128x64, WgmmaTf32, 64, 7, 1, 2)
PBPROBE_SKINNY_KMAJOR(wgmma_tf32_few16, 2, WgmmaTf32, 16, 5, 1, 2)
PBPROBE_SKINNY_KMAJOR(wgmma_tf32_few64, 1, WgmmaTf32, 64, 4, 2, 2)
PBPROBE_SKINNY_KMAJOR(wgmma_tf32_few128, 1, WgmmaTf32, 128, 6, 2, 1)
PBPROBE_WGMMA_PEAK(tf32, WgmmaTf32, Tf32)
