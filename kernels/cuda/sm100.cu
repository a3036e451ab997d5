// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm100: fma.rn.f32x2. A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N] FP32. Source: PTX ISA, fma.
#define PBPROBE_TARGET sm100
#define PBPROBE_PACKED_FMA

#include "kernels/cuda/peak.cuh"
#include "kernels/cuda/simt.cuh"
