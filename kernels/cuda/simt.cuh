// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// FP32 products on the ordinary FMA units, for every SM. A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N].
// A block of 256 threads computes 128 × 128 of C, each thread 8 × 8 as four squares of 4 × 4, in steps of 16 along k;
// the next step is read, half by half, while the current one is multiplied from shared memory (two buffers).
// Source: CUDA C++ Programming Guide, shared memory and its banks; PTX ISA, fma.rn.f32 and fma.rn.f32x2.
//
// A family header: the target's file defines PBPROBE_TARGET, and PBPROBE_PACKED_FMA where the SM has FFMA2.
#pragma once

// Blocks of an SM at once, which bounds registers: a target's file says 1 where ptxas would spill for 2.
#ifndef PBPROBE_SIMT_BLOCKS
#define PBPROBE_SIMT_BLOCKS 2
#endif

#include "kernels/cuda/tile.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kTile = 128;        // rows and columns of a block
constexpr int kStep = 16;         // depth of a step
constexpr int kThreads = 256;     // 8 warps of 64 × 32
constexpr int kLine = kTile + 4;  // floats of a line of shared memory: the 4 spread transposed stores over the banks

#ifdef PBPROBE_PACKED_FMA
// Two neighbouring columns at once: fma.rn.f32x2.
struct Sums {
  unsigned long long pairs[8][4];

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) pairs[i][j] = 0;
    }
  }
  __device__ void add_product(const float (&a)[8], const float (&b)[8]) {
    unsigned long long columns[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      asm("mov.b64 %0, {%1, %2};" : "=l"(columns[j]) : "f"(b[2 * j]), "f"(b[2 * j + 1]));
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      unsigned long long row;
      asm("mov.b64 %0, {%1, %1};" : "=l"(row) : "f"(a[i]));
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        asm("fma.rn.f32x2 %0, %1, %2, %0;" : "+l"(pairs[i][j]) : "l"(row), "l"(columns[j]));
      }
    }
  }
  __device__ float get(int i, int j) const {
    const unsigned long long pair = pairs[i][j / 2];
    return __uint_as_float(static_cast<unsigned>(j % 2 == 0 ? pair : pair >> 32));
  }
};
#else
struct Sums {
  float values[8][8];

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) values[i][j] = 0.0F;
    }
  }
  __device__ void add_product(const float (&a)[8], const float (&b)[8]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) values[i][j] = fmaf(a[i], b[j], values[i][j]);
    }
  }
  __device__ float get(int i, int j) const {
    return values[i][j];
  }
};
#endif

__device__ inline void read_four(float* to, const float* from) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}

// One operand on its way from memory to shared memory: 128 lines (rows of A, columns of B) × kStep depths a step.
// kDepthFirst: depths lie next to each other in memory, so that the block is turned while it is stored.
template <bool kDepthFirst>
struct Fetch {
  const float* next;  // this thread's first element of the coming step
  int lines;          // of the block that are there, less this thread's first
  float held[4];

  __device__ Fetch(const void* operand, int first_line, long long leading, int all_lines) {
    const int thread = static_cast<int>(threadIdx.x);
    const int line = kDepthFirst ? thread / 4 : thread % 32 * 4;
    const int d = kDepthFirst ? thread % 4 * 4 : thread / 32;
    next = static_cast<const float*>(operand) + (first_line + line) * (kDepthFirst ? leading : 1LL) +
           d * (kDepthFirst ? 1LL : leading);
    lines = all_lines - first_line - line;
  }

  // Half `part` of a step: outside the operand there are zeros; a vector is read only where all of it is inside.
  // `depths` are left from the step on; `leading` and `vector` (16-byte loads may be used) come from the kernel's
  // parameters, and so take no registers.
  __device__ void load(int part, int depths, long long leading, int vector) {
    const int thread = static_cast<int>(threadIdx.x);
    const float* p = next + (kDepthFirst ? part * 64 * leading : 0LL);
    // The other order's halves lie 8 depths apart, step after step.
    next += kDepthFirst ? part * kStep : 8 * leading;
    const int lines_left = lines - (kDepthFirst ? 64 * part : 0);
    const int depths_left = depths - (kDepthFirst ? thread % 4 * 4 : thread / 32 + 8 * part);
    if (vector && lines_left > (kDepthFirst ? 0 : 3) && depths_left > (kDepthFirst ? 3 : 0)) {
      read_four(held, p);
      return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      held[i] = lines_left > (kDepthFirst ? 0 : i) && depths_left > (kDepthFirst ? i : 0) ? p[i] : 0.0F;
    }
  }

  __device__ void store(float (*shared)[kLine], int part) const {
    const int thread = static_cast<int>(threadIdx.x);
    if constexpr (kDepthFirst) {
#pragma unroll
      for (int i = 0; i < 4; ++i) shared[thread % 4 * 4 + i][thread / 4 + 64 * part] = held[i];
    } else {
      *reinterpret_cast<float4*>(&shared[thread / 32 + 8 * part][thread % 32 * 4]) =
          make_float4(held[0], held[1], held[2], held[3]);
    }
  }
};

__device__ inline void write_tile(const GpuCall& call, const Sums& sums, int first_row, int first_column) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float four[4] = {sums.get(i, half * 4), sums.get(i, half * 4 + 1), sums.get(i, half * 4 + 2),
                             sums.get(i, half * 4 + 3)};
      write_sums<4>(call, first_row + i % 4 + i / 4 * 32, first_column + half * 16, four);
    }
  }
}

// kAkm: A is stored [k,m]; kBnk: B is stored [n,k].
template <bool kAkm, bool kBnk>
__device__ void multiply(const GpuCall& call) {
  __shared__ __align__(16) float shared_a[2][kStep][kLine];
  __shared__ __align__(16) float shared_b[2][kStep][kLine];
  const int2 first = tile_corner<kTile, kTile>(call);
  Fetch<!kAkm> a(call.a, first.x, call.lda, call.m);
  Fetch<kBnk> b(call.b, first.y, call.ldb, call.n);

  // Warps lie 2 down and 4 across; in a warp, threads 8 down and 4 across, in an order in which every other lane, or
  // every other pair, reads the same 16 bytes: two wavefronts then serve a warp.
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int my_row = warp % 2 * 64 + ((lane >> 1 & 1) | (lane >> 2 & 6)) * 4;
  const int my_column = warp / 2 * 32 + ((lane & 1) | (lane >> 1 & 2)) * 4;

  Sums sums;
  sums.clear();

  for (int part = 0; call.k > 0 && part < 2; ++part) {
    a.load(part, call.k, call.lda, call.a_aligned);
    b.load(part, call.k, call.ldb, call.b_aligned);
    a.store(shared_a[0], part);
    b.store(shared_b[0], part);
  }
  __syncthreads();
  int now = 0;
#pragma unroll 1
  for (int left = call.k; left > 0; left -= kStep) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      if (left > kStep) {
        a.load(part, left - kStep, call.lda, call.a_aligned);
        b.load(part, left - kStep, call.ldb, call.b_aligned);
      }
#pragma unroll
      for (int d = part * kStep / 2; d < (part + 1) * kStep / 2; ++d) {
        float rows[8];
        float columns[8];
        read_four(rows, &shared_a[now][d][my_row]);
        read_four(rows + 4, &shared_a[now][d][my_row + 32]);
        read_four(columns, &shared_b[now][d][my_column]);
        read_four(columns + 4, &shared_b[now][d][my_column + 16]);
        sums.add_product(rows, columns);
      }
      if (left > kStep) {
        a.store(shared_a[1 - now], part);
        b.store(shared_b[1 - now], part);
      }
    }
    __syncthreads();
    now = 1 - now;
  }
  const int2 here = tile_corner<kTile, kTile>(call);
  write_tile(call, sums, here.x + my_row, here.y + my_column);
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

#define PBPROBE_SIMT_KERNEL(layout, a_km, b_nk)                                                        \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::kThreads, PBPROBE_SIMT_BLOCKS) \
      gemm_fp32_128x128_##layout(const __grid_constant__ pbprobe::GpuCall call) {                      \
    pbprobe::PBPROBE_TARGET::multiply<a_km, b_nk>(call);                                               \
  }
PBPROBE_SIMT_KERNEL(nt, false, true)
PBPROBE_SIMT_KERNEL(nn, false, false)
PBPROBE_SIMT_KERNEL(tn, true, false)
PBPROBE_SIMT_KERNEL(tt, true, true)
#undef PBPROBE_SIMT_KERNEL
