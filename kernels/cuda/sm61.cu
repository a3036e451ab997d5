// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm61: FP32 and widened BF16 by fma.rn.f32, INT8 by dp4a. A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N].
// NVRTC 12.9 compiles it, the last one that knows this SM. Source: PTX ISA, fma, dp4a.
#define PBPROBE_TARGET sm61
#define PBPROBE_STAGED

#include "kernels/cuda/gemv.cuh"
#include "kernels/cuda/passes.cuh"
#include "kernels/cuda/peak.cuh"
#include "kernels/cuda/simt.cuh"
#include "kernels/cuda/simt_small.cuh"
#include "kernels/cuda/simt_thin.cuh"

PBPROBE_SIMT_LAYOUTS(gemm_bf16_128x128, SimtLarge, WidenedBf16)
PBPROBE_SIMT_KMAJOR(gemm_int8_128x128, SimtLarge, DotInt8)
PBPROBE_DP4A_PEAK(int8)
