// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// FP32 for small M, on every SM: bound by reading B, which goes from memory to registers once, without shared memory;
// and TF32, of which tensor cores read short unaligned rows slower.
// A[M,K], B[N,K] or [K,N] → C[M,N]. A block of eight warps computes kRows × 16 of C, rows first, so that what two
// blocks read of B comes from the L2 cache the second time:
//   B [n,k]  a warp four columns and every other 128 of k, a lane four k at a time: neighbours, or 32 apart where rows
//            are unaligned, so that a warp reads neighbours
//   B [k,n]  a warp all columns and one in eight of 32 k, four lanes a row of B
// Lanes and warps then add up in a fixed order. A is read again by each block, and stays in the caches.
// Source: PTX ISA, ld.global.nc, fma.rn.f32. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/pdl.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kGemvColumns = 16;
constexpr int kGemvThreads = 256;
constexpr int kGemvWarps = kGemvThreads / 32;
constexpr int kGemvFour = 4;  // columns of a warp (B [n,k]) or of a lane (B [k,n]), and k of a lane

__device__ inline void read_cached(float (&to)[4], const float* from) {
  const float4 four = __ldg(reinterpret_cast<const float4*>(from));
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}
// Reads four neighbours that no thread reads again.
__device__ inline void read_once(float (&to)[4], const float* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "l"(from));
#else
  read_cached(to, from);
#endif
}

// Operand that needs no rounding.
struct AsItIs {
  __device__ static float of(float value) { return value; }
};

// Sums over the lanes that differ in the bits from kFrom on: each keeps a share of the accumulators, as long as there
// are any to share. Returns the first one that this lane keeps.
template <int kFrom, int kCount>
__device__ inline int add_lanes(float (&acc)[kCount]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  int first = 0;
  int count = kCount;
#pragma unroll
  for (int bit = kFrom; bit < 32; bit *= 2) {
    if (count > 1) {
      count /= 2;
      const bool upper = (lane & bit) != 0;
#pragma unroll
      for (int i = 0; i < kCount / 2; ++i) {
        if (i >= count) continue;
        const float kept = upper ? acc[i + count] : acc[i];
        acc[i] = kept + __shfl_xor_sync(0xffffffffU, upper ? acc[i] : acc[i + count], bit);
      }
      if (upper) first += count;
    } else {
      acc[0] += __shfl_xor_sync(0xffffffffU, acc[0], bit);
    }
  }
  return first;
}

// One thread's share of a step along k: its reads and its sums.
template <int kRows, bool kBnk, class Operand>
struct GemvLane {
  static constexpr int kDeep = kBnk ? 2 : kGemvWarps;        // warps that share k
  static constexpr int kApart = kBnk ? 32 : 8;               // lanes that do
  static constexpr int kStepK = kDeep * kApart * kGemvFour;  // k of a step of the block
  static constexpr int kFrom = kBnk ? 1 : 32 / kApart;       // first bit of the lanes that share k
  static_assert(kStepK == 256, "the k-block of the table's rows");

  const GpuCall& call;
  int row, column;  // this thread's first
  int k, end;       // next k of this thread; end of the block's part of k
  int apart = 1;    // from one of its k to the next
  float acc[kRows * kGemvFour] = {};

  __device__ GemvLane(const GpuCall& of, int2 first, int2 range) : call(of), row(first.x) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    column = first.y + (kBnk ? warp() % (kGemvWarps / kDeep) : lane % (32 / kApart)) * kGemvFour;
    k = range.x + (group() * kApart + (kBnk ? lane : lane / (32 / kApart))) * kGemvFour;
    end = range.x + range.y;
    if (kBnk && !whole()) {
      apart = kApart;
      k = range.x + group() * kApart * kGemvFour + lane;
    }
  }
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  __device__ static int group() { return kBnk ? warp() / (kGemvWarps / kDeep) : warp(); }
  // Reports whether rows can be read in 16-byte vectors, up to the last whole vector.
  __device__ bool whole() const { return call.a_aligned && call.b_aligned && (kBnk || column + kGemvFour <= call.n); }

  // Reads B. values[i][j] is the j-th k of column i for B [n,k], and column j of k + i for B [k,n].
  template <bool kWhole>
  __device__ void read_b(float (&values)[4][4]) const {
    const float* b = static_cast<const float*>(call.b) + (kBnk ? k : column);
    b += (kBnk ? min(column, call.n - 1) : k) * call.ldb;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (kWhole) {
        read_once(values[i], b);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const bool there = kBnk ? k + j * apart < end : column + j < call.n && k + i < end;
          values[i][j] = there ? __ldg(b + j * apart) : 0.0F;
        }
      }
      if (!kBnk || column + i + 1 < call.n) b += call.ldb;  // repeats the last column: C beyond it is not stored
    }
  }
  template <bool kWhole>
  __device__ void multiply(const float (&b)[4][4]) {
    const float* from = static_cast<const float*>(call.a) + row * call.lda + k;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float a[4];
      if constexpr (kWhole) {
        read_cached(a, from);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) a[j] = k + j * apart < end ? __ldg(from + j * apart) : 0.0F;
      }
#pragma unroll
      for (int d = 0; d < 4; ++d) {
#pragma unroll
        for (int j = 0; j < kGemvFour; ++j) {
          float& sum = acc[i * kGemvFour + j];
          sum = fmaf(Operand::of(a[d]), Operand::of(kBnk ? b[j][d] : b[d][j]), sum);
        }
      }
      if (row + i + 1 < call.m) from += call.lda;
    }
  }
  // Steps of k, kHeld of B in registers: with two, the next one is on its way while one is computed.
  template <bool kWhole, int kHeld>
  __device__ void steps() {
    constexpr int kLeast = kWhole ? kGemvFour : 1;
    float b[kHeld][4][4];
    if (kHeld > 1 && k + kLeast <= end) read_b<kWhole>(b[0]);
#pragma unroll 1
    while (k + kLeast <= end) {
#pragma unroll
      for (int now = 0; now < kHeld; ++now) {
        if (k + kLeast > end) break;
        if constexpr (kHeld > 1) {
          k += kStepK;
          if (k + kLeast <= end) read_b<kWhole>(b[1 - now]);
          k -= kStepK;
        } else {
          read_b<kWhole>(b[now]);
        }
        multiply<kWhole>(b[now]);
        k += kStepK;
      }
    }
  }
  __device__ void run() {
    if (whole()) steps<true, 2>();
    steps < false, kRows<8 ? 2 : 1>();
  }
};

template <int kRows, bool kBnk, class Operand>
__device__ inline void gemv(const GpuCall& call) {
  using Lane = GemvLane<kRows, kBnk, Operand>;
  __shared__ float sums[Lane::kDeep][kRows][kGemvColumns];
  const int down = (call.m + kRows - 1) / kRows;
  const int2 corner =
      make_int2(static_cast<int>(blockIdx.x) % down * kRows, static_cast<int>(blockIdx.x) / down * kGemvColumns);
  Lane lane(call, corner, k_range(call));
  launch_dependents();
  wait_on_dependencies();
  lane.run();
  const int aside = lane.column - corner.y;
  constexpr int kShares = 32 / Lane::kFrom;
  constexpr int kKept = kRows * kGemvFour > kShares ? kRows * kGemvFour / kShares : 1;
  const int first = add_lanes<Lane::kFrom>(lane.acc);
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    // With fewer accumulators than lanes, several lanes hold the same sum.
    if (kRows * kGemvFour >= kShares || static_cast<int>(threadIdx.x) % 32 / Lane::kFrom < kRows * kGemvFour) {
      sums[Lane::group()][(first + i) / kGemvFour][aside + (first + i) % kGemvFour] = lane.acc[i];
    }
  }
  __syncthreads();
  for (int at = static_cast<int>(threadIdx.x); at < kRows * kGemvFour; at += kGemvThreads) {
    const int row = at / kGemvFour;
    float four[4] = {};
#pragma unroll
    for (int part = 0; part < Lane::kDeep; ++part) {
#pragma unroll
      for (int i = 0; i < 4; ++i) four[i] += sums[part][row][at % kGemvFour * 4 + i];
    }
    write_accumulators<4, false, true>(call, corner.x + row, corner.y + at % kGemvFour * 4, four);
  }
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

// Type; rows, and blocks of an SM.
#define PBPROBE_GEMV_KERNEL(type, operand, rows, blocks, layout, b_nk)                        \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::kGemvThreads, blocks) \
      gemv_##type##_##rows##x16_##layout(PBPROBE_PARAMETER pbprobe::GpuCall call) {           \
    pbprobe::PBPROBE_TARGET::gemv<rows, b_nk, pbprobe::PBPROBE_TARGET::operand>(call);        \
  }
#define PBPROBE_GEMV_ROWS(type, operand, rows, blocks)       \
  PBPROBE_GEMV_KERNEL(type, operand, rows, blocks, nt, true) \
  PBPROBE_GEMV_KERNEL(type, operand, rows, blocks, nn, false)
#define PBPROBE_GEMV(type, operand)      \
  PBPROBE_GEMV_ROWS(type, operand, 2, 3) \
  PBPROBE_GEMV_ROWS(type, operand, 8, 2)
PBPROBE_GEMV(fp32, AsItIs)
