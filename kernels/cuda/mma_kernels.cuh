// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Every kernel that a target with mma.sync has since 8.0, but for what it has besides: BF16 and FP16 m16n8k16, TF32
// m16n8k8, INT8 m16n8k32, FP32 by FMA. Family header: the target's file defines PBPROBE_TARGET, and names its tiles by
// PBPROBE_MMA_KERNELS(PBPROBE_MMA_SIZES_…).
#pragma once

#include "kernels/cuda/gemv.cuh"
#include "kernels/cuda/passes.cuh"
#include "kernels/cuda/peak_mma.cuh"
#include "kernels/cuda/simt.cuh"
#include "kernels/cuda/simt_small.cuh"
#include "kernels/cuda/simt_thin.cuh"
#include "kernels/cuda/tile_sizes.hpp"

// A row: blocks of an SM, type, rows and columns of a block and of a warp, bytes of k in a stage, stages.
#define PBPROBE_MMA_TYPE(rows, name, type, line_bytes, stages, stages_64, blocks_64, blocks_16) \
  rows(gemm_##name##_128x128, 2, type, 128, 128, 64, 64, line_bytes, stages)                    \
      rows(gemm_##name##_64x64, blocks_64, type, 64, 64, 32, 32, 128, stages_64)                \
          rows(gemm_##name##_16x64, blocks_16, type, 16, 64, 16, 16, 128, 8) PBPROBE_MMA_PEAK(name, type)
#define PBPROBE_MMA_KERNELS(...)                                 \
  PBPROBE_MMA_TYPE(PBPROBE_MMA_LAYOUTS, bf16, Bf16, __VA_ARGS__) \
  PBPROBE_MMA_TYPE(PBPROBE_MMA_LAYOUTS, fp16, Fp16, __VA_ARGS__) \
  PBPROBE_MMA_TYPE(PBPROBE_MMA_KMAJOR, int8, Int8, __VA_ARGS__)  \
  PBPROBE_MMA_TYPE(PBPROBE_MMA_KMAJOR, tf32, Tf32, __VA_ARGS__)
