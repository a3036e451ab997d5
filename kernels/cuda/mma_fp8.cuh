// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// FP8 by mma.sync m16n8k32, since 8.9. QMMA adds in 14 bits or so, therefore each step of 32 products starts from zero
// and is added to the accumulators in FP32. (9.0 has no QMMA: there ptxas widens to FP16.) Family header: see mma.cuh.
#pragma once

#include "kernels/cuda/mma_kernels.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

#define PBPROBE_MMA_FP8_OP(name, type)                                                            \
  struct name {                                                                                   \
    using Accumulator = float;                                                                    \
    static constexpr int kElement = 1;                                                            \
    __device__ static void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) { \
      float sum[4];                                                                               \
      asm volatile("mma.sync.aligned.m16n8k32.row.col.f32." type "." type                         \
                   ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"     \
                   : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])                       \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(0.0F));    \
      for (int i = 0; i < 4; ++i) c[i] += sum[i];                                                 \
    }                                                                                             \
  };
PBPROBE_MMA_FP8_OP(E4m3, "e4m3")
PBPROBE_MMA_FP8_OP(E5m2, "e5m2")
#undef PBPROBE_MMA_FP8_OP

// Without the highest bit of the exponent: finite, and below 2.
template <>
__device__ inline unsigned peak_operand<E4m3>(unsigned seed) {
  return peak_operand<Int8>(seed) & 0xbfbfbfbfU;
}
template <>
__device__ inline unsigned peak_operand<E5m2>(unsigned seed) {
  return peak_operand<Int8>(seed) & 0xbfbfbfbfU;
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

// Twice as many warps as of other types, which leaves registers for the sums.
#define PBPROBE_MMA_FP8_TYPE(name, type, line_bytes, stages, stages_64, blocks_64, blocks_16) \
  PBPROBE_MMA_KMAJOR(gemm_##name##_128x128, 1, type, 128, 128, 64, 32, 128, 3)                \
  PBPROBE_MMA_KMAJOR(gemm_##name##_64x64, blocks_64, type, 64, 64, 32, 32, 128, stages_64)    \
  PBPROBE_MMA_KMAJOR(gemm_##name##_16x64, blocks_16, type, 16, 64, 16, 16, 128, 8)            \
  PBPROBE_MMA_PEAK(name, type)
#define PBPROBE_MMA_FP8_KERNELS(...)            \
  PBPROBE_MMA_FP8_TYPE(e4m3, E4m3, __VA_ARGS__) \
  PBPROBE_MMA_FP8_TYPE(e5m2, E5m2, __VA_ARGS__)
