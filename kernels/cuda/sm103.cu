// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#define PBPROBE_TARGET sm103
#define PBPROBE_PACKED_FMA

#include "kernels/cuda/mma_kernels.cuh"

PBPROBE_MMA_KERNELS(PBPROBE_MMA_SIZES_228KB)
