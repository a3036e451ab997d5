// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A register-only loop of FP32 FMAs with the device's clock around it: how fast they issue. Family header: see
// simt.cuh.
#pragma once

#include "kernels/cuda/call.hpp"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kPeakSums = 16;     // FMAs of a thread in flight; two thirds of them would do
constexpr int kPeakRepeats = 32;  // of all sums in one iteration, so that the loop's own instructions vanish

__device__ inline unsigned long long wall_clock() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
  return ns;
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

// 2 · kPeakSums · kPeakRepeats operations a thread and iteration. x → x·c + d stays near d / (1 − c).
extern "C" __global__ void __launch_bounds__(256) peak_fp32(pbprobe::GpuPeakSample* samples, long long iterations) {
  using namespace pbprobe::PBPROBE_TARGET;
  float sums[kPeakSums];
  for (int i = 0; i < kPeakSums; ++i) sums[i] = 1.0F + 0.01F * static_cast<float>(threadIdx.x + i);
  // Read from memory's clock, so that the compiler cannot compute with them.
  const float factor = 0.9990234375F - 1e-7F * static_cast<float>(wall_clock() % 8);
  const float addend = 0.00123F * static_cast<float>(1 + wall_clock() % 8);
  __syncthreads();
  const unsigned long long begin_ns = wall_clock();
  const unsigned long long begin = clock64();
  for (long long n = 0; n < iterations; ++n) {
#pragma unroll
    for (int r = 0; r < kPeakRepeats; ++r) {
#ifdef PBPROBE_PACKED_FMA
      unsigned long long pair_factor;
      unsigned long long pair_addend;
      asm("mov.b64 %0, {%1, %1};" : "=l"(pair_factor) : "f"(factor));
      asm("mov.b64 %0, {%1, %1};" : "=l"(pair_addend) : "f"(addend));
#pragma unroll
      for (int i = 0; i < kPeakSums; i += 2) {
        unsigned long long pair;
        asm("mov.b64 %0, {%1, %2};" : "=l"(pair) : "f"(sums[i]), "f"(sums[i + 1]));
        asm("fma.rn.f32x2 %0, %0, %1, %2;" : "+l"(pair) : "l"(pair_factor), "l"(pair_addend));
        asm("mov.b64 {%0, %1}, %2;" : "=f"(sums[i]), "=f"(sums[i + 1]) : "l"(pair));
      }
#else
#pragma unroll
      for (int i = 0; i < kPeakSums; ++i) sums[i] = fmaf(sums[i], factor, addend);
#endif
    }
  }
  const unsigned long long end = clock64();
  float sink = 0.0F;
  for (int i = 0; i < kPeakSums; ++i) sink += sums[i];
  __syncthreads();
  const unsigned long long end_ns = wall_clock();
  // A sum that cannot be: keeps every thread's work alive without writing it all.
  if (threadIdx.x == 0 || sink == -1.0F) {
    unsigned sm;
    asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
    samples[blockIdx.x] = {begin, end, begin_ns, end_ns, sm, __float_as_uint(sink)};
  }
}
