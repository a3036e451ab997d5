// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Register-only loops of FP32 FMAs, and of dp4a, with the device's clock around them: how fast they issue. Family
// header: see simt.cuh.
#pragma once

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 1000
#undef PBPROBE_PACKED_FMA  // compiled to PTX of an older SM
#endif

#include "kernels/cuda/memory.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kPeakAccumulators = 16;  // FMAs of a thread in flight; two thirds of them would do
constexpr int kPeakRepeats = 32;  // repeats of all accumulators in one iteration; they hide the loop's own instructions

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

// 2 · kPeakAccumulators · kPeakRepeats operations a thread and iteration. x → x·c + d stays near d / (1 − c).
extern "C" __global__ void __launch_bounds__(256) peak_fp32(pbprobe::GpuPeakSample* samples, long long iterations) {
  using namespace pbprobe::PBPROBE_TARGET;
  float acc[kPeakAccumulators];
  for (int i = 0; i < kPeakAccumulators; ++i) acc[i] = 1.0F + 0.01F * static_cast<float>(threadIdx.x + i);
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
      for (int i = 0; i < kPeakAccumulators; i += 2) {
        unsigned long long pair;
        asm("mov.b64 %0, {%1, %2};" : "=l"(pair) : "f"(acc[i]), "f"(acc[i + 1]));
        asm("fma.rn.f32x2 %0, %0, %1, %2;" : "+l"(pair) : "l"(pair_factor), "l"(pair_addend));
        asm("mov.b64 {%0, %1}, %2;" : "=f"(acc[i]), "=f"(acc[i + 1]) : "l"(pair));
      }
#else
#pragma unroll
      for (int i = 0; i < kPeakAccumulators; ++i) acc[i] = fmaf(acc[i], factor, addend);
#endif
    }
  }
  const unsigned long long end = clock64();
  float sink = 0.0F;
  for (int i = 0; i < kPeakAccumulators; ++i) sink += acc[i];
  __syncthreads();
  const unsigned long long end_ns = wall_clock();
  // A sum that cannot be: keeps every thread's work alive without writing it all.
  if (threadIdx.x == 0 || sink == -1.0F) {
    unsigned sm;
    asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
    samples[blockIdx.x] = {begin, end, begin_ns, end_ns, sm, __float_as_uint(sink)};
  }
}

// c[i] = a[i] · b[i] + c[i] by one instruction each, so that its bits can be held against those that it must give.
extern "C" __global__ void proof_fp32(const float* a, const float* b, float* c) {
  const int i = static_cast<int>(threadIdx.x) * 2;
#ifdef PBPROBE_PACKED_FMA
  unsigned long long left;
  unsigned long long right;
  unsigned long long sum;
  asm("mov.b64 %0, {%1, %2};" : "=l"(left) : "f"(a[i]), "f"(a[i + 1]));
  asm("mov.b64 %0, {%1, %2};" : "=l"(right) : "f"(b[i]), "f"(b[i + 1]));
  asm("mov.b64 %0, {%1, %2};" : "=l"(sum) : "f"(c[i]), "f"(c[i + 1]));
  asm volatile("fma.rn.f32x2 %0, %1, %2, %0;" : "+l"(sum) : "l"(left), "l"(right));
  asm("mov.b64 {%0, %1}, %2;" : "=f"(c[i]), "=f"(c[i + 1]) : "l"(sum));
#else
  for (int j = 0; j < 2; ++j) c[i + j] = fmaf(a[i + j], b[i + j], c[i + j]);
#endif
}

// 8 · kPeakAccumulators · kPeakRepeats operations a thread and iteration, on bits by chance.
#define PBPROBE_DP4A_PEAK(name)                                                                      \
  extern "C" __global__ void __launch_bounds__(256)                                                  \
      peak_##name(pbprobe::GpuPeakSample* samples, long long iterations) {                           \
    using namespace pbprobe::PBPROBE_TARGET;                                                         \
    int acc[kPeakAccumulators];                                                                      \
    for (int i = 0; i < kPeakAccumulators; ++i) acc[i] = static_cast<int>(threadIdx.x + i);          \
    const int a = static_cast<int>((threadIdx.x + 1) * 2654435761U + wall_clock() % 8);              \
    const int b = static_cast<int>((threadIdx.x + 7) * 2246822519U + wall_clock() % 8);              \
    __syncthreads();                                                                                 \
    const unsigned long long begin_ns = wall_clock();                                                \
    const unsigned long long begin = clock64();                                                      \
    for (long long n = 0; n < iterations; ++n) {                                                     \
      _Pragma("unroll") for (int r = 0; r < kPeakRepeats; ++r) {                                     \
        _Pragma("unroll") for (int i = 0; i < kPeakAccumulators; ++i) acc[i] = __dp4a(a, b, acc[i]); \
      }                                                                                              \
    }                                                                                                \
    const unsigned long long end = clock64();                                                        \
    int sink = 0;                                                                                    \
    for (int i = 0; i < kPeakAccumulators; ++i) sink += acc[i];                                      \
    __syncthreads();                                                                                 \
    const unsigned long long end_ns = wall_clock();                                                  \
    if (threadIdx.x == 0 || sink == -1) {                                                            \
      unsigned sm;                                                                                   \
      asm volatile("mov.u32 %0, %smid;" : "=r"(sm));                                                 \
      samples[blockIdx.x] = {begin, end, begin_ns, end_ns, sm, static_cast<unsigned>(sink)};         \
    }                                                                                                \
  }                                                                                                  \
  extern "C" __global__ void proof_##name(const int* a, const int* b, int* c) {                      \
    const int i = static_cast<int>(threadIdx.x) * 2;                                                 \
    for (int j = 0; j < 2; ++j) c[i + j] = __dp4a(a[i + j], b[i + j], c[i + j]);                     \
  }
