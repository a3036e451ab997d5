// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm100a: BF16, FP16, TF32, INT8 and FP8 by tcgen05, 256 × 128 by two SMs.
// A[M,K], B[N,K] or [K,N] → C[M,N]. Source: PTX ISA, tcgen05; CUTLASS 4.2.
#define PBPROBE_TARGET sm100
#define PBPROBE_TCGEN05_PAIRS
#define PBPROBE_TCGEN05_INT8
#define PBPROBE_TCGEN05_BLOCKS

#include "kernels/cuda/peak_tcgen05.cuh"
#include "kernels/cuda/tcgen05.cuh"

PBPROBE_TCGEN05_PEAK(bf16, PeakBf16)
PBPROBE_TCGEN05_PEAK(fp16, PeakFp16)
PBPROBE_TCGEN05_PEAK(tf32, PeakTf32)
PBPROBE_TCGEN05_PEAK(int8, PeakInt8)
PBPROBE_TCGEN05_PEAK(e4m3, PeakE4m3)
PBPROBE_TCGEN05_PEAK(e5m2, PeakE5m2)
PBPROBE_TCGEN05_PEAK(mx_e4m3, PeakMxE4m3)
PBPROBE_TCGEN05_PEAK(mx_e5m2, PeakMxE5m2)
PBPROBE_TCGEN05_PEAK(mx_e2m1, PeakMxE2m1)
PBPROBE_TCGEN05_PEAK(nv_e2m1, PeakNvE2m1)
