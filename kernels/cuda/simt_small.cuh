// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// FP32 in small tiles, for problems on which the tiles of simt.cuh leave most SMs idle. A[M,K] or [K,M], B[N,K] or
// [K,N] → C[M,N]. A block of 256 threads, each 4 × 4 of C, computes its tile in groups of threads that share the k of
// each stage, and adds their sums at its end. The next stage is loaded to registers while the current one is computed
// (two buffers). Source: PTX ISA, fma.rn.f32. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/pdl.cuh"
#include "kernels/cuda/write_lines.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kSmallThreads = 256;
constexpr int kSmallK = 32;  // k of a stage

// One operand: kLines rows of A or columns of B. Shared memory holds the lines of one k; fours of them are permuted by
// k, so that a warp stores and reads without bank conflicts.
template <int kLines, bool kKMajor>
struct SmallFetch {
  static constexpr int kAcross = (kKMajor ? kSmallK : kLines) / 4;  // threads along what is contiguous
  static constexpr int kStep = kSmallThreads / kAcross;
  static constexpr int kCount = kLines * kSmallK / 4 / kSmallThreads;
  static_assert(kCount >= 1 && kCount * kSmallThreads * 4 == kLines * kSmallK, "the fours divide among the threads");
  float held[kCount][4];

  __device__ static int along() { return static_cast<int>(threadIdx.x) % kAcross * 4; }
  __device__ static int down() { return static_cast<int>(threadIdx.x) / kAcross; }

  // Loads a stage, with zeros outside the operand. `end`: end of this block's part of k.
  __device__ void load(const void* operand, long long leading, int aligned, int first_line, int lines, int k, int end) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int row = (kKMajor ? first_line : k) + down() + i * kStep;
      const int column = (kKMajor ? k : first_line) + along();
      const int there = row < (kKMajor ? lines : end) ? (kKMajor ? end : lines) - column : 0;
      const float* from = static_cast<const float*>(operand) + row * leading + column;
      if (aligned && there >= 4) {
        const float4 four = *reinterpret_cast<const float4*>(from);
        held[i][0] = four.x;
        held[i][1] = four.y;
        held[i][2] = four.z;
        held[i][3] = four.w;
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) held[i][j] = j < there ? from[j] : 0.0F;
      }
    }
  }
  __device__ static int moved(int k) {
    return k / 4 % 8 * 4;
  }
  __device__ void store(float (*shared)[kLines]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if constexpr (kKMajor) {
#pragma unroll
        for (int j = 0; j < 4; ++j) shared[along() + j][(down() + i * kStep) ^ moved(along())] = held[i][j];
      } else {
        const int k = down() + i * kStep;
        *reinterpret_cast<float4*>(&shared[k][along() ^ moved(k)]) =
            make_float4(held[i][0], held[i][1], held[i][2], held[i][3]);
      }
    }
  }
  __device__ static float4 read(const float (*shared)[kLines], int k, int line) {
    return *reinterpret_cast<const float4*>(&shared[k][line ^ moved(k)]);
  }
};

template <int kTileM, int kTileN, bool kAkm, bool kBnk>
__device__ void simt_small_gemm(const GpuCall& call) {
  using A = SmallFetch<kTileM, !kAkm>;
  using B = SmallFetch<kTileN, kBnk>;
  constexpr int kOfGroup = kTileM / 4 * (kTileN / 4);  // threads
  constexpr int kGroups = kSmallThreads / kOfGroup;
  constexpr int kGroupK = kSmallK / kGroups;
  struct Stages {
    float a[2][kSmallK][kTileM];
    float b[2][kSmallK][kTileN];
  };
  __shared__ __align__(16) Stages stages;
  const int2 first = tile_corner<kTileM, kTileN>(call);
  const int2 range = k_range(call);
  const int end = range.x + range.y;
  const int group = static_cast<int>(threadIdx.x) / kOfGroup;
  const int inside = static_cast<int>(threadIdx.x) % kOfGroup;
  // A warp has 32 rows and 16 columns: either is one wavefront of shared memory.
  const int my_row = (inside / 32 % (kTileM / 32) * 8 + inside % 8) * 4;
  const int my_column = (inside / 32 / (kTileM / 32) * 4 + inside % 32 / 8) * 4;
  float acc[4][4] = {};
  A a;
  B b;
  const auto load = [&](int k) {
    a.load(call.a, call.lda, call.a_aligned, first.x, call.m, k, end);
    b.load(call.b, call.ldb, call.b_aligned, first.y, call.n, k, end);
  };
  launch_dependents();
  wait_on_dependencies();
  if (range.y > 0) load(range.x);
  int now = 0;
#pragma unroll 1
  for (int k = range.x; k < end; k += kSmallK, now = 1 - now) {
    a.store(stages.a[now]);
    b.store(stages.b[now]);
    __syncthreads();  // one barrier is enough: the store fills the buffer that no thread reads
    if (k + kSmallK < end) load(k + kSmallK);
#pragma unroll 4
    for (int d = 0; d < kGroupK; ++d) {
      const float4 four_a = A::read(stages.a[now], group * kGroupK + d, my_row);
      const float4 four_b = B::read(stages.b[now], group * kGroupK + d, my_column);
      const float rows[4] = {four_a.x, four_a.y, four_a.z, four_a.w};
      const float columns[4] = {four_b.x, four_b.y, four_b.z, four_b.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) acc[i][j] = fmaf(rows[i], columns[j], acc[i][j]);
      }
    }
  }
  auto* const sums = reinterpret_cast<float(*)[kTileM][kTileN]>(&stages);
  static_assert(sizeof(stages) >= sizeof(float[kGroups][kTileM][kTileN]), "sums lie where the stages were");
  const auto moved = [](int row) { return row / 4 % 8 * 4; };  // fours, so that rows spread over the banks
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    *reinterpret_cast<float4*>(&sums[group][my_row + i][my_column ^ moved(my_row)]) =
        make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
  }
  __syncthreads();
  write_lines<kTileM, kTileN, kSmallThreads, 4>(call, tile_corner<kTileM, kTileN>(call), [&](int i, int j) {
    const int row = static_cast<int>(threadIdx.x) / 32 * (kTileM / (kSmallThreads / 32)) + i;
    const int column = j * 32 + static_cast<int>(threadIdx.x) % 32 ^ moved(row);
    float all = sums[0][row][column];
#pragma unroll
    for (int other = 1; other < kGroups; ++other) all += sums[other][row][column];
    return all;
  });
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

// Rows and columns of a tile, blocks of an SM.
#define PBPROBE_SMALL_KERNEL(rows, columns, blocks, layout, a_km, b_nk)                        \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::kSmallThreads, blocks) \
      gemm_fp32_##rows##x##columns##_##layout(PBPROBE_PARAMETER pbprobe::GpuCall call) {       \
    pbprobe::PBPROBE_TARGET::simt_small_gemm<rows, columns, a_km, b_nk>(call);                 \
  }
#define PBPROBE_SMALL_LAYOUTS(rows, columns, blocks)            \
  PBPROBE_SMALL_KERNEL(rows, columns, blocks, nt, false, true)  \
  PBPROBE_SMALL_KERNEL(rows, columns, blocks, nn, false, false) \
  PBPROBE_SMALL_KERNEL(rows, columns, blocks, tn, true, false)  \
  PBPROBE_SMALL_KERNEL(rows, columns, blocks, tt, true, true)
PBPROBE_SMALL_LAYOUTS(32, 32, 3)
