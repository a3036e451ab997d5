// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Products without tensor cores, for every SM. A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N].
//   PlainFp32     fma.rn.f32, all four layouts
//   WidenedBf16   the same, of BF16 that becomes FP32 on its way to shared memory: for an SM without BF16
//   DotInt8       dp4a, four depths a word: along k alone
// A block of 256 threads computes 128 × 128 of C, each thread 8 × 8 as four squares of 4 × 4, in steps of 16 words
// along k; the next step is read, half by half, while the current one is multiplied from shared memory (two buffers).
// Source: CUDA C++ Programming Guide, shared memory and its banks; PTX ISA, fma.rn.f32, fma.rn.f32x2 and dp4a.
//
// A family header: the target's file defines PBPROBE_TARGET, and PBPROBE_PACKED_FMA where the SM has FFMA2.
#pragma once

// Blocks of an SM at once, which bounds registers: a target's file says 1 where ptxas would spill for 2.
#ifndef PBPROBE_SIMT_BLOCKS
#define PBPROBE_SIMT_BLOCKS 2
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 1000
#undef PBPROBE_PACKED_FMA  // compiled to PTX of an older SM
#endif

#include "kernels/cuda/tile.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kTile = 128;        // rows and columns of a block
constexpr int kStep = 16;         // words along k of a step
constexpr int kThreads = 256;     // 8 warps of 64 × 32
constexpr int kLine = kTile + 4;  // words of a line of shared memory: the 4 spread transposed stores over the banks

#ifdef PBPROBE_PACKED_FMA
// Two neighbouring columns at once: fma.rn.f32x2.
struct FloatSums {
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
struct FloatSums {
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

struct IntegerSums {
  int values[8][8];

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) values[i][j] = 0;
    }
  }
  __device__ void add_product(const int (&a)[8], const int (&b)[8]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) values[i][j] = __dp4a(a[i], b[j], values[i][j]);
    }
  }
  __device__ int get(int i, int j) const {
    return values[i][j];
  }
};

__device__ inline void read_four(float (&to)[4], const void* from) {
  const float4 four = *static_cast<const float4*>(from);
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}
__device__ inline void read_four(int (&to)[4], const void* from) {
  const int4 four = *static_cast<const int4*>(from);
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}

// What an operand holds, and the words that are multiplied: kBytes of memory hold one of kDepths elements.
struct PlainFp32 {
  using Word = float;
  using Sums = FloatSums;
  static constexpr int kBytes = 4;
  static constexpr int kDepths = 1;
  __device__ static void read_vector(float (&to)[4], const char* from) { read_four(to, from); }
  __device__ static float read(const char* from) { return *reinterpret_cast<const float*>(from); }
};

struct WidenedBf16 {
  using Word = float;
  using Sums = FloatSums;
  static constexpr int kBytes = 2;
  static constexpr int kDepths = 1;
  __device__ static void read_vector(float (&to)[4], const char* from) {
    const uint2 four = *reinterpret_cast<const uint2*>(from);
    to[0] = __uint_as_float(four.x << 16);
    to[1] = __uint_as_float(four.x & 0xffff0000U);
    to[2] = __uint_as_float(four.y << 16);
    to[3] = __uint_as_float(four.y & 0xffff0000U);
  }
  __device__ static float read(const char* from) {
    return __uint_as_float(static_cast<unsigned>(*reinterpret_cast<const unsigned short*>(from)) << 16);
  }
};

struct DotInt8 {
  using Word = int;
  using Sums = IntegerSums;
  static constexpr int kBytes = 4;
  static constexpr int kDepths = 4;
  __device__ static void read_vector(int (&to)[4], const char* from) { read_four(to, from); }
};

// One operand on its way from memory to shared memory: 128 lines (rows of A, columns of B) × kStep words a step.
// kDepthFirst: depths lie next to each other in memory, so that the block is turned while it is stored.
template <class Element, bool kDepthFirst>
struct Fetch {
  using Word = typename Element::Word;
  static constexpr int kElementBytes = Element::kBytes / Element::kDepths;
  static constexpr int kStepDepths = kStep * Element::kDepths;
  const char* next;  // this thread's first word of the coming step
  int lines;         // of the block that are there, less this thread's first
  Word held[4];

  __device__ Fetch(const void* operand, int first_line, int first_depth, long long leading, int all_lines) {
    const int thread = static_cast<int>(threadIdx.x);
    const int line = kDepthFirst ? thread / 4 : thread % 32 * 4;
    const int d = first_depth + (kDepthFirst ? thread % 4 * 4 * Element::kDepths : thread / 32);
    next = static_cast<const char*>(operand) +
           ((first_line + line) * (kDepthFirst ? leading : 1LL) + d * (kDepthFirst ? 1LL : leading)) * kElementBytes;
    lines = all_lines - first_line - line;
  }

  // Half `part` of a step: outside the operand there are zeros; a vector is read only where all of it is inside.
  // `depths` are left from the step on; `leading` and `vector` (16-byte loads may be used) come from the kernel's
  // parameters, and so take no registers.
  __device__ void load(int part, int depths, long long leading, int vector) {
    const int thread = static_cast<int>(threadIdx.x);
    const char* p = next + (kDepthFirst ? part * 64 * leading * kElementBytes : 0LL);
    // The other order's halves lie 8 depths apart, step after step.
    next += kDepthFirst ? part * kStep * Element::kBytes : 8 * leading * kElementBytes;
    const int lines_left = lines - (kDepthFirst ? 64 * part : 0);
    const int depths_left = depths - (kDepthFirst ? thread % 4 * 4 * Element::kDepths : thread / 32 + 8 * part);
    if (vector && lines_left > (kDepthFirst ? 0 : 3) && depths_left > (kDepthFirst ? 4 * Element::kDepths - 1 : 0)) {
      Element::read_vector(held, p);
      return;
    }
    if constexpr (Element::kDepths == 4) {
      const uint4 four = read_elements<1>(p, lines_left > 0 ? min(max(depths_left, 0), 16) : 0);
      held[0] = static_cast<int>(four.x);
      held[1] = static_cast<int>(four.y);
      held[2] = static_cast<int>(four.z);
      held[3] = static_cast<int>(four.w);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const bool there = lines_left > (kDepthFirst ? 0 : i) && depths_left > (kDepthFirst ? i : 0);
        held[i] = there ? Element::read(p + i * Element::kBytes) : 0.0F;
      }
    }
  }

  __device__ void store(Word (*shared)[kLine], int part) const {
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

template <class Sums>
__device__ inline void write_tile(const GpuCall& call, const Sums& sums, int first_row, int first_column) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const decltype(sums.get(0, 0)) four[4] = {sums.get(i, half * 4), sums.get(i, half * 4 + 1),
                                                sums.get(i, half * 4 + 2), sums.get(i, half * 4 + 3)};
      write_sums<4>(call, first_row + i % 4 + i / 4 * 32, first_column + half * 16, four);
    }
  }
}

// kAkm: A is stored [k,m]; kBnk: B is stored [n,k].
template <class Element, bool kAkm, bool kBnk>
__device__ void multiply(const GpuCall& call) {
  using Word = typename Element::Word;
  __shared__ __align__(16) Word shared_a[2][kStep][kLine];
  __shared__ __align__(16) Word shared_b[2][kStep][kLine];
  constexpr int kDepths = Fetch<Element, true>::kStepDepths;
  const int2 first = tile_corner<kTile, kTile>(call);
  const int2 depth = depth_range(call);
  Fetch<Element, !kAkm> a(call.a, first.x, depth.x, call.lda, call.m);
  Fetch<Element, kBnk> b(call.b, first.y, depth.x, call.ldb, call.n);

  // Warps lie 2 down and 4 across; in a warp, threads 8 down and 4 across, in an order in which every other lane, or
  // every other pair, reads the same 16 bytes: two wavefronts then serve a warp.
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int my_row = warp % 2 * 64 + ((lane >> 1 & 1) | (lane >> 2 & 6)) * 4;
  const int my_column = warp / 2 * 32 + ((lane & 1) | (lane >> 1 & 2)) * 4;

  typename Element::Sums sums;
  sums.clear();

  for (int part = 0; depth.y > 0 && part < 2; ++part) {
    a.load(part, depth.y, call.lda, call.a_aligned);
    b.load(part, depth.y, call.ldb, call.b_aligned);
    a.store(shared_a[0], part);
    b.store(shared_b[0], part);
  }
  __syncthreads();
  int now = 0;
#pragma unroll 1
  for (int left = depth.y; left > 0; left -= kDepths) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      if (left > kDepths) {
        a.load(part, left - kDepths, call.lda, call.a_aligned);
        b.load(part, left - kDepths, call.ldb, call.b_aligned);
      }
#pragma unroll
      for (int d = part * kStep / 2; d < (part + 1) * kStep / 2; ++d) {
        Word rows[2][4];
        Word columns[2][4];
        read_four(rows[0], &shared_a[now][d][my_row]);
        read_four(rows[1], &shared_a[now][d][my_row + 32]);
        read_four(columns[0], &shared_b[now][d][my_column]);
        read_four(columns[1], &shared_b[now][d][my_column + 16]);
        sums.add_product(reinterpret_cast<const Word(&)[8]>(rows), reinterpret_cast<const Word(&)[8]>(columns));
      }
      if (left > kDepths) {
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

#define PBPROBE_SIMT_KERNEL(name, layout, element, a_km, b_nk)                                         \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::kThreads, PBPROBE_SIMT_BLOCKS) \
      name##_##layout(PBPROBE_PARAMETER pbprobe::GpuCall call) {                                       \
    pbprobe::PBPROBE_TARGET::multiply<pbprobe::PBPROBE_TARGET::element, a_km, b_nk>(call);             \
  }
#define PBPROBE_SIMT_KMAJOR(name, element) PBPROBE_SIMT_KERNEL(name, nt, element, false, true)
#define PBPROBE_SIMT_LAYOUTS(name, element)            \
  PBPROBE_SIMT_KMAJOR(name, element)                   \
  PBPROBE_SIMT_KERNEL(name, nn, element, false, false) \
  PBPROBE_SIMT_KERNEL(name, tn, element, true, false)  \
  PBPROBE_SIMT_KERNEL(name, tt, element, true, true)
PBPROBE_SIMT_LAYOUTS(gemm_fp32_128x128, PlainFp32)
