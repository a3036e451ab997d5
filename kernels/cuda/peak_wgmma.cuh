// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Loops of wgmma on random operands that stay in shared memory, one for each type: how fast the tensor cores take them
// from two warpgroups, each with a tile of 64 × 256. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/peak_mma.cuh"
#include "kernels/cuda/tma.cuh"
#include "kernels/cuda/wgmma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kPeakGroups = 2;
constexpr int kPeakColumns = 256;
constexpr int kPeakWgmmas = 4;  // wgmmas of an iteration

// 4 · 8192 / kElement · operations a thread and iteration. kSource: the type whose bits by chance the operands are.
template <class Op, class Source>
__device__ inline void run_wgmma_peak(GpuPeakSample* samples, long long iterations) {
  __shared__ __align__(kPatternBytes) unsigned operands[(64 * kPeakGroups + kPeakColumns) * kRowBytes / 4];
  const unsigned seed = static_cast<unsigned>(wall_clock() % 8);
  for (unsigned i = threadIdx.x; i < sizeof operands / 4; i += blockDim.x) operands[i] = peak_operand<Source>(seed + i);
  fence_async_proxy();
  __syncthreads();
  const unsigned base = shared_address(operands);
  const unsigned long long of_a = describe<true>(base + threadIdx.x / 128 * kBoxBytes);
  const unsigned long long of_b = describe<true>(base + kPeakGroups * kBoxBytes);
  typename Op::Accumulator acc[kPeakColumns / 2] = {};
  const unsigned long long begin_ns = wall_clock();
  const unsigned long long begin = clock64();
#pragma unroll 1
  for (long long n = 0; n < iterations; ++n) {
    fence_operands(acc);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < kPeakWgmmas; ++step) {
      Op::template wgmma<kPeakColumns, true, true>(acc, of_a + step * kStepK<true>, of_b + step * kStepK<true>);
    }
    wgmma_commit();
    wgmma_wait<1>();
  }
  wgmma_wait<0>();
  fence_operands(acc);
  const unsigned long long end = clock64();
  typename Op::Accumulator sink = 0;
  for (const auto sum : acc) sink += sum;
  __syncthreads();
  const unsigned long long end_ns = wall_clock();
  // A sum that cannot be: keeps every thread's work alive without writing it all.
  if (threadIdx.x == 0 || sink == static_cast<typename Op::Accumulator>(-1)) {
    unsigned sm;
    asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
    samples[blockIdx.x] = {begin, end, begin_ns, end_ns, sm, bits_of(sink)};
  }
}

// One wgmma of 64 rows, 8 columns and 32 bytes of k: a and b row by row, of c four words a thread.
template <class Op>
__device__ inline void run_wgmma_proof(const unsigned* a, const unsigned* b, typename Op::Accumulator* c) {
  __shared__ __align__(kPatternBytes) unsigned operands[(64 + 8) * kRowBytes / 4];
  constexpr unsigned kWords = 8;  // words of a row's 32 bytes
  for (unsigned i = threadIdx.x; i < (64 + 8) * kWords; i += 128) {
    const unsigned row = i / kWords;
    const unsigned word = i % kWords;
    operands[row * (kRowBytes / 4) + (word / 4 ^ (row & 7)) * 4 + word % 4] = row < 64 ? a[i] : b[i - 64 * kWords];
  }
  fence_async_proxy();
  __syncthreads();
  typename Op::Accumulator acc[4];
  for (int i = 0; i < 4; ++i) acc[i] = c[4 * threadIdx.x + i];
  const unsigned base = shared_address(operands);
  fence_operands(acc);
  wgmma_fence();
  Op::template wgmma<8, true, true>(acc, describe<true>(base), describe<true>(base + kBoxBytes));
  wgmma_commit();
  wgmma_wait<0>();
  fence_operands(acc);
  for (int i = 0; i < 4; ++i) c[4 * threadIdx.x + i] = acc[i];
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

// peak_wgmma_<name>, and proof_wgmma_<name>, which runs the instruction once.
#define PBPROBE_WGMMA_PEAK(name, op, source)                                                                           \
  extern "C" __global__ void __launch_bounds__(256, 1)                                                                 \
      peak_wgmma_##name(pbprobe::GpuPeakSample* samples, long long iterations) {                                       \
    pbprobe::PBPROBE_TARGET::run_wgmma_peak<pbprobe::PBPROBE_TARGET::op, pbprobe::PBPROBE_TARGET::source>(samples,     \
                                                                                                          iterations); \
  }                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(128)                                                                    \
      proof_wgmma_##name(const unsigned* a, const unsigned* b, pbprobe::PBPROBE_TARGET::op::Accumulator* c) {          \
    pbprobe::PBPROBE_TARGET::run_wgmma_proof<pbprobe::PBPROBE_TARGET::op>(a, b, c);                                    \
  }
