// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Register-only loops of mma.sync on random operands, one for each type: how fast the tensor cores take them from a
// warp. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/peak.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kPeakSteps = 8;   // accumulators of a warp in flight
constexpr int kPeakRounds = 4;  // repeats of all accumulators in one iteration

// Bits of a finite number of the type, by chance: BF16 and TF32 near 1, FP16 too, INT8 any.
template <class Op>
__device__ inline unsigned peak_operand(unsigned seed) {
  seed *= 2654435761U;
  seed = (seed ^ seed >> 15) * 2246822519U;
  seed ^= seed >> 13;
  if constexpr (Op::kElement == 1) {
    return seed;
  } else if constexpr (Op::kElement == 4) {
    return (seed & 0x807fe000U) | 0x3f000000U;
  } else {
    return (Op::kPeakAnd & seed) | Op::kPeakOr;
  }
}

// 8192 / kElement · operations a thread and iteration: 32 steps of 16 × 8 × 32 bytes by 32 threads.
template <class Op>
__device__ inline void run_peak(GpuPeakSample* samples, long long iterations) {
  using Accumulator = typename Op::Accumulator;
  Accumulator acc[kPeakSteps][4];
  unsigned a[2][4];
  unsigned b[kPeakSteps / 2][2];
  const unsigned seed = threadIdx.x * 64U + static_cast<unsigned>(wall_clock() % 8);
  for (int i = 0; i < kPeakSteps; ++i) {
    for (int j = 0; j < 4; ++j) acc[i][j] = 0;
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 4; ++j) a[i][j] = peak_operand<Op>(seed + i * 4 + j);
  }
  for (int i = 0; i < kPeakSteps / 2; ++i) {
    for (int j = 0; j < 2; ++j) b[i][j] = peak_operand<Op>(seed + 8 + i * 2 + j);
  }
  __syncthreads();
  const unsigned long long begin_ns = wall_clock();
  const unsigned long long begin = clock64();
#pragma unroll 1
  for (long long n = 0; n < iterations; ++n) {
#pragma unroll
    for (int r = 0; r < kPeakRounds; ++r) {
#pragma unroll
      for (int i = 0; i < kPeakSteps; ++i) Op::mma(acc[i], a[i % 2], b[i / 2][0], b[i / 2][1]);
    }
  }
  const unsigned long long end = clock64();
  Accumulator sink = 0;
  for (int i = 0; i < kPeakSteps; ++i) {
    for (int j = 0; j < 4; ++j) sink += acc[i][j];
  }
  __syncthreads();
  const unsigned long long end_ns = wall_clock();
  // A sum that cannot be: keeps every thread's work alive without writing it all.
  if (threadIdx.x == 0 || sink == static_cast<Accumulator>(-1)) {
    unsigned sm;
    asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
    samples[blockIdx.x] = {begin, end, begin_ns, end_ns, sm, bits_of(sink)};
  }
}

// Runs one step of one warp on fragments in order: words from 4 · lane on of a and c, from 2 · lane on of b.
template <class Op>
__device__ inline void run_proof(const unsigned* a, const unsigned* b, typename Op::Accumulator* c) {
  const int lane = static_cast<int>(threadIdx.x);
  unsigned rows[4];
  typename Op::Accumulator acc[4];
  for (int i = 0; i < 4; ++i) rows[i] = a[4 * lane + i];
  for (int i = 0; i < 4; ++i) acc[i] = c[4 * lane + i];
  Op::mma(acc, rows, b[2 * lane], b[2 * lane + 1]);
  for (int i = 0; i < 4; ++i) c[4 * lane + i] = acc[i];
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

// peak_<name>, and proof_<name>, which runs the instruction once.
#define PBPROBE_MMA_PEAK(name, op)                                                                      \
  extern "C" __global__ void __launch_bounds__(256)                                                     \
      peak_##name(pbprobe::GpuPeakSample* samples, long long iterations) {                              \
    pbprobe::PBPROBE_TARGET::run_peak<pbprobe::PBPROBE_TARGET::op>(samples, iterations);                \
  }                                                                                                     \
  extern "C" __global__ void __launch_bounds__(32)                                                      \
      proof_##name(const unsigned* a, const unsigned* b, pbprobe::PBPROBE_TARGET::op::Accumulator* c) { \
    pbprobe::PBPROBE_TARGET::run_proof<pbprobe::PBPROBE_TARGET::op>(a, b, c);                           \
  }
