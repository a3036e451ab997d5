// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm90: wgmma BF16 and FP16 m64nNk16, TF32 m64nNk8, INT8 and FP8 m64nNk32, with operands by TMA; mma.sync BF16 and FP16
// m16n8k16, TF32 m16n8k8, INT8 and FP8 m16n8k32; FP32 by fma.rn.f32.
// A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N]. Source: PTX ISA, mma, fma.
#define PBPROBE_TARGET sm90
#define PBPROBE_LARGE_ROWS 8
#define PBPROBE_PARTIAL_TILES 1

#include "kernels/cuda/hopper_fp8.cuh"
#include "kernels/cuda/hopper_pingpong.cuh"
#include "kernels/cuda/hopper_skinny.cuh"
#include "kernels/cuda/mma_direct.cuh"
#include "kernels/cuda/mma_fp8.cuh"
#include "kernels/cuda/peak_wgmma.cuh"
#include "kernels/cuda/tensor_probes.cuh"

PBPROBE_SIMT_LAYOUTS(gemm_fp32_words_128x128, SimtWords, PlainFp32)
PBPROBE_SIMT_LAYOUTS(gemm_fp32_64x256, SimtWide64, PlainFp32)
PBPROBE_SIMT_LAYOUTS(gemm_fp32_32x256, SimtWide32, PlainFp32)
PBPROBE_GEMV(tf32, RoundedTf32)

// Blocks of an SM, type, rows of 16 and columns of 8 of a warp, warps down, across and along k, stages.
#define PBPROBE_MMA_DIRECT_KERNELS(name, type)                        \
  PBPROBE_MMA_DIRECT(gemm_##name##_64x128, 2, type, 2, 4, 2, 4, 1, 3) \
  PBPROBE_MMA_DIRECT(gemm_##name##_32x64, 2, type, 2, 4, 1, 2, 4, 2)  \
  PBPROBE_MMA_DIRECT(gemm_##name##_32x32, 2, type, 2, 4, 1, 1, 8, 2)  \
  PBPROBE_MMA_PEAK(name, type)
PBPROBE_MMA_DIRECT_KERNELS(bf16, Bf16)
PBPROBE_MMA_DIRECT_KERNELS(fp16, Fp16)
PBPROBE_MMA_DIRECT_KERNELS(int8, Int8)
PBPROBE_MMA_DIRECT_KERNELS(tf32, Tf32)

// Small M: type, rows, stages, warpgroups that compute, lines of 128 bytes of k in a stage, blocks of an SM.
#define PBPROBE_SMALL_M(name, op)                                                            \
  PBPROBE_TMA_KMAJOR(wgmma_##name##_small_m16, small_m_gemm, SkinnyTile<op, 16, 5, 1, 2, 2>) \
  PBPROBE_TMA_KMAJOR(wgmma_##name##_small_m64, small_m_gemm, SkinnyTile<op, 64, 4, 2, 2, 1>) \
  PBPROBE_TMA_KMAJOR(wgmma_##name##_small_m128, small_m_gemm, SkinnyTile<op, 128, 6, 2, 1, 1>)
#define PBPROBE_SMALL_M_UNALIGNED(name)                                                           \
  PBPROBE_TMA_KERNEL(wgmma_##name##_small_m16, nt_unaligned, 128, small_m_gemm, true, true, true) \
  PBPROBE_TMA_KERNEL(wgmma_##name##_small_m64, nt_unaligned, 128, small_m_gemm, true, true, true) \
  PBPROBE_TMA_KERNEL(wgmma_##name##_small_m128, nt_unaligned, 128, small_m_gemm, true, true, true)
// Type, columns of a tile, stages, blocks of a cluster, a warpgroup's chunks of C, side by side; ping-pong: type,
// stages.
#define PBPROBE_WGMMA_HALVES(name, op, source)                                               \
  PBPROBE_TMA_LAYOUTS(wgmma_##name##_128x256, wgmma_gemm, WgmmaTile<op, 256, 4, 2, 2>)       \
  PBPROBE_TMA_LAYOUTS(wgmma_##name##_128x192, wgmma_gemm, WgmmaTile<op, 192, 4, 2, 3, true>) \
  PBPROBE_TMA_LAYOUTS(wgmma_##name##_128x128, wgmma_gemm, WgmmaTile<op, 128, 5, 1, 2>)       \
  PBPROBE_TMA_LAYOUTS(wgmma_##name##_128x64, wgmma_gemm, WgmmaTile<op, 64, 7, 1, 2>)         \
  PBPROBE_TMA_LAYOUTS(wgmma_##name##_pingpong, pingpong_gemm, PingPongTile<op, 6>)           \
  PBPROBE_SMALL_M(name, op)                                                                  \
  PBPROBE_SMALL_M_UNALIGNED(name)                                                            \
  PBPROBE_TMA_KERNEL(wgmma_##name##_small_m16, nn, 0, small_m_gemm, true, false)             \
  PBPROBE_TMA_KERNEL(wgmma_##name##_small_m64, nn, 0, small_m_gemm, true, false)             \
  PBPROBE_TMA_KERNEL(wgmma_##name##_small_m128, nn, 0, small_m_gemm, true, false)            \
  PBPROBE_WGMMA_PEAK(name, op, source)
PBPROBE_WGMMA_HALVES(bf16, WgmmaBf16, Bf16)
PBPROBE_WGMMA_HALVES(fp16, WgmmaFp16, Fp16)
#define PBPROBE_WGMMA_KMAJOR(name, op, source)                                        \
  PBPROBE_TMA_KMAJOR(wgmma_##name##_128x256, wgmma_gemm, WgmmaTile<op, 256, 4, 2, 2>) \
  PBPROBE_TMA_KMAJOR(wgmma_##name##_128x128, wgmma_gemm, WgmmaTile<op, 128, 5, 1, 2>) \
  PBPROBE_TMA_KMAJOR(wgmma_##name##_128x64, wgmma_gemm, WgmmaTile<op, 64, 7, 1, 2>)   \
  PBPROBE_TMA_KMAJOR(wgmma_##name##_pingpong, pingpong_gemm, PingPongTile<op, 6>)     \
  PBPROBE_SMALL_M(name, op)                                                           \
  PBPROBE_WGMMA_PEAK(name, op, source)
PBPROBE_WGMMA_KMAJOR(int8, WgmmaInt8, Int8)
PBPROBE_SMALL_M_UNALIGNED(int8)
PBPROBE_WGMMA_KMAJOR(tf32, WgmmaTf32, Tf32)
// Type, parts of 64 rows of a warpgroup, columns of a tile, stages, blocks of a cluster, a warpgroup's buffers of C.
// The tile of mma.sync is for addresses that TMA cannot read.
#define PBPROBE_WGMMA_FP8(name, op, source)                                      \
  PBPROBE_FP8_KMAJOR(wgmma_##name##_256x128, op, 2, 128, 4, 2, 2)                \
  PBPROBE_FP8_KMAJOR(wgmma_##name##_128x192, op, 1, 192, 4, 2, 3)                \
  PBPROBE_FP8_KMAJOR(wgmma_##name##_128x128, op, 1, 128, 5, 1, 2)                \
  PBPROBE_FP8_KMAJOR(wgmma_##name##_128x64, op, 1, 64, 7, 1, 2)                  \
  PBPROBE_SMALL_M(name, op)                                                      \
  PBPROBE_SMALL_M_UNALIGNED(name)                                                \
  PBPROBE_MMA_KMAJOR(gemm_##name##_128x128, 1, source, 128, 128, 64, 32, 128, 3) \
  PBPROBE_MMA_PEAK(name, source)                                                 \
  PBPROBE_WGMMA_PEAK(name, op, source)
PBPROBE_WGMMA_FP8(e4m3, WgmmaE4m3, E4m3)
PBPROBE_WGMMA_FP8(e5m2, WgmmaE5m2, E5m2)
