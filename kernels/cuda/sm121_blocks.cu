// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_121a: block-scaled types by mma.sync, which plain sm_121 lacks. A[M,K], B[N,K] → C[M,N].
// Source: PTX ISA, "Block Scaling for mma.sync".
#define PBPROBE_TARGET sm121

#include "kernels/cuda/mma_blocks.cuh"

PBPROBE_MMA_BLOCKS_KERNELS
