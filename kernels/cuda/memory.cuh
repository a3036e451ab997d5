// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Bandwidth probes, one kernel for each memory: HBM and L2 by reading and by copying, shared memory by reading. An
// empty kernel shows the cost of a launch. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/tile.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kMemoryThreads = 512;
constexpr int kVectors = 8;         // 16-byte vectors of a thread in flight
constexpr int kSharedVectors = 64;  // vectors that a thread reads in one iteration
// Vectors of them in flight: with more, ptxas spills.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
constexpr int kSharedAtOnce = 4;
#else
constexpr int kSharedAtOnce = 16;
#endif

// 16 bytes, not through L1: another round would find them there.
__device__ inline uint4 read_through(const uint4* from) {
  uint4 value;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from));
  return value;
}
__device__ inline unsigned fold(uint4 value) {
  return value.x ^ value.y ^ value.z ^ value.w;
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

// Reads all `count` vectors `rounds` times. A block takes neighbouring pieces of kVectors · kMemoryThreads vectors.
extern "C" __global__ void __launch_bounds__(512)
    probe_read(const uint4* from, long long count, int rounds, unsigned* sink) {
  using namespace pbprobe::PBPROBE_TARGET;
  constexpr long long kPiece = kVectors * kMemoryThreads;
  unsigned folded = 0;
  for (int round = 0; round < rounds; ++round) {
    for (long long first = blockIdx.x * kPiece; first < count; first += gridDim.x * kPiece) {
      uint4 held[kVectors];
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        const long long at = first + i * kMemoryThreads + threadIdx.x;
        held[i] = at < count ? read_through(from + at) : make_uint4(0, 0, 0, 0);
      }
#pragma unroll
      for (int i = 0; i < kVectors; ++i) folded ^= fold(held[i]);
    }
  }
  if (folded == 0x5eed5eedU) *sink = folded;  // only by chance: keeps the reads
}

extern "C" __global__ void __launch_bounds__(512) probe_copy(const uint4* from, uint4* to, long long count) {
  using namespace pbprobe::PBPROBE_TARGET;
  constexpr long long kPiece = kVectors * kMemoryThreads;
  const long long first = blockIdx.x * kPiece + threadIdx.x;
  uint4 held[kVectors];
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const long long at = first + i * kMemoryThreads;
    if (at < count) held[i] = read_through(from + at);
  }
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const long long at = first + i * kMemoryThreads;
    if (at < count) to[at] = held[i];
  }
}

// Reads kSharedVectors · 16 bytes a thread and iteration. A warp reads 512 contiguous bytes, without bank conflicts.
extern "C" __global__ void __launch_bounds__(256) probe_shared(pbprobe::GpuPeakSample* samples, long long iterations) {
  using namespace pbprobe::PBPROBE_TARGET;
  __shared__ __align__(128) uint4 bank[1024];
  for (int i = static_cast<int>(threadIdx.x); i < 1024; i += 256) bank[i] = make_uint4(i, i * 3, i * 5, i * 7);
  unsigned at = shared_address(bank) + threadIdx.x * 16;
  unsigned folded = 0;
  __syncthreads();
  const unsigned long long begin_ns = wall_clock();
  const unsigned long long begin = clock64();
#pragma unroll 1
  for (long long n = 0; n < iterations; ++n) {
#pragma unroll kSharedAtOnce
    for (int i = 0; i < kSharedVectors; ++i) {
      uint4 value;
      asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                   : "r"(at + i % 4 * 4096));
      folded ^= value.x;
    }
  }
  const unsigned long long end = clock64();
  __syncthreads();
  const unsigned long long end_ns = wall_clock();
  if (threadIdx.x == 0 || folded == 0x5eed5eedU) {
    unsigned sm;
    asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
    samples[blockIdx.x] = {begin, end, begin_ns, end_ns, sm, folded};
  }
}

extern "C" __global__ void probe_nothing() {}
