// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GEMM without tensor cores, for every SM. A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N].
//   PlainFp32     fma.rn.f32, all four layouts
//   WidenedBf16   the same, of BF16 that becomes FP32 on its way to shared memory: for an SM without BF16
//   DotInt8       dp4a, four k a word: along k only
// A block of 128 threads computes 128 × 128 of C, each thread 16 × 8 as eight squares of 4 × 4, in steps of 16 words
// along k. The next step is loaded while the current one is computed from shared memory (two buffers), and its next k
// while the current one is computed from registers.
// Source: CUDA C++ Programming Guide, shared memory and its banks; PTX ISA, fma.rn.f32, fma.rn.f32x2 and dp4a.
//
// A family header: the target's file defines PBPROBE_TARGET, and PBPROBE_PACKED_FMA where the SM has FFMA2.
#pragma once

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 1000
#undef PBPROBE_PACKED_FMA  // compiled to PTX of an older SM
#endif

#include "kernels/cuda/tile.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kTile = 128;     // rows and columns of a block
constexpr int kStep = 16;      // words along k of a step
constexpr int kThreads = 128;  // 4 warps of 64 × 64
constexpr int kBlocks = 2;     // of an SM at once, which bounds registers
constexpr int kRows = 16;      // of C of a thread
constexpr int kColumns = 8;
constexpr int kLanesDown = 4;  // of a warp
constexpr int kLanesAcross = 8;

// Registers lie in two banks, odd and even, and each gives one word a clock. An FMA needs its sum and its column, for
// the row stays where the FMA before has left it. Both words come from fours in a row, the columns as shared memory
// has them and the accumulators as C wants them: so neighbouring columns change places in shared memory, and the two
// lie in different banks.
#ifdef PBPROBE_PACKED_FMA
constexpr int kCross = 0;
#else
constexpr int kCross = 1;
#endif

// The order of one k's FMAs, which ptxas mostly keeps: the one with the fewest stalls on reads was found by trial.
enum class Order {
  rows,     // row after row, to and fro: a row's last column is the next one's first
  squares,  // two rows and two columns at a time, around each square
};
__device__ constexpr int2 place_of(Order order, int step) {
  if (order == Order::rows) {
    const int row = step / kColumns;
    return {row, row % 2 == 0 ? step % kColumns : kColumns - 1 - step % kColumns};
  }
  const int pair = step / (2 * kColumns);
  const int square = step / 4 % (kColumns / 2);
  const int corner = step % 4;
  return {pair * 2 + corner / 2,
          2 * (pair % 2 == 0 ? square : kColumns / 2 - 1 - square) + (corner == 1 || corner == 2 ? 1 : 0)};
}

#ifdef PBPROBE_PACKED_FMA
// Two neighbouring columns at once: fma.rn.f32x2.
struct FloatAccumulators {
  unsigned long long pairs[kRows][kColumns / 2];

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns / 2; ++j) pairs[i][j] = 0;
    }
  }
  template <Order>
  __device__ void mma_step(const float (&a)[kRows], const float (&b)[kColumns]) {
    unsigned long long columns[kColumns / 2];
#pragma unroll
    for (int j = 0; j < kColumns / 2; ++j) {
      asm("mov.b64 %0, {%1, %2};" : "=l"(columns[j]) : "f"(b[2 * j]), "f"(b[2 * j + 1]));
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      unsigned long long row;
      asm("mov.b64 %0, {%1, %1};" : "=l"(row) : "f"(a[i]));
#pragma unroll
      for (int j = 0; j < kColumns / 2; ++j) {
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
struct FloatAccumulators {
  float values[kRows][kColumns];

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns; ++j) values[i][j] = 0.0F;
    }
  }
  template <Order kOrder>
  __device__ void mma_step(const float (&a)[kRows], const float (&b)[kColumns]) {
#pragma unroll
    for (int step = 0; step < kRows * kColumns; ++step) {
      const int2 at = place_of(kOrder, step);
      values[at.x][at.y] = fmaf(a[at.x], b[at.y], values[at.x][at.y]);
    }
  }
  __device__ float get(int i, int j) const {
    return values[i][j];
  }
};
#endif

struct IntegerAccumulators {
  int values[kRows][kColumns];

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns; ++j) values[i][j] = 0;
    }
  }
  template <Order kOrder>
  __device__ void mma_step(const int (&a)[kRows], const int (&b)[kColumns]) {
#pragma unroll
    for (int step = 0; step < kRows * kColumns; ++step) {
      const int2 at = place_of(kOrder, step);
      values[at.x][at.y] = __dp4a(a[at.x], b[at.y], values[at.x][at.y]);
    }
  }
  __device__ int get(int i, int j) const {
    return values[i][j];
  }
};

__device__ inline void read_four(float* to, const void* from) {
  const float4 four = *static_cast<const float4*>(from);
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}
__device__ inline void read_four(int* to, const void* from) {
  const int4 four = *static_cast<const int4*>(from);
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}

// What an operand holds, and the words that are multiplied: kBytes of memory hold one of kTileK elements.
struct PlainFp32 {
  using Word = float;
  using Accumulators = FloatAccumulators;
  static constexpr int kBytes = 4;
  static constexpr int kTileK = 1;
  __device__ static void read_vector(float (&to)[4], const char* from) { read_four(to, from); }
  __device__ static void read_vector_if(bool there, float (&to)[4], const char* from) {
    asm("{\n .reg .pred there;\n setp.ne.u32 there, %4, 0;\n @there ld.global.v4.f32 {%0, %1, %2, %3}, [%5];\n}"
        : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
        : "r"(static_cast<unsigned>(there)), "l"(__cvta_generic_to_global(from)));
  }
  __device__ static float read(const char* from) { return *reinterpret_cast<const float*>(from); }
};

struct WidenedBf16 {
  using Word = float;
  using Accumulators = FloatAccumulators;
  static constexpr int kBytes = 2;
  static constexpr int kTileK = 1;
  __device__ static void read_vector(float (&to)[4], const char* from) {
    widen(to, *reinterpret_cast<const uint2*>(from));
  }
  __device__ static void read_vector_if(bool there, float (&to)[4], const char* from) {
    if (there) read_vector(to, from);
  }
  __device__ static void widen(float (&to)[4], uint2 four) {
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
  using Accumulators = IntegerAccumulators;
  static constexpr int kBytes = 4;
  static constexpr int kTileK = 4;
  __device__ static void read_vector(int (&to)[4], const char* from) { read_four(to, from); }
  __device__ static void read_vector_if(bool there, int (&to)[4], const char* from) {
    if (there) read_vector(to, from);
  }
};

// One operand on its way from memory to shared memory: 128 lines (rows of A, columns of B) × kStep words a step, and
// four words at a time. kKFirst: k lie next to each other in memory, so that the block is transposed while it is
// stored, and every four k are eight banks apart, so that a warp has no bank conflict. kExchange:
// neighbouring lines change places (0 or 1).
template <class Element, bool kKFirst, int kExchange>
struct Fetch {
  using Word = typename Element::Word;
  static constexpr int kElementBytes = Element::kBytes / Element::kTileK;
  static constexpr int kStageK = kStep * Element::kTileK;
  static constexpr int kFours = kTile * kStep / 4 / kThreads;       // of a thread
  static constexpr int kLineStep = kKFirst ? kTile / kFours : 0;    // from one of them to the next
  static constexpr int kStepK = kKFirst ? 0 : kStep / kFours;       // in words
  static constexpr int kFourK = kKFirst ? 4 * Element::kTileK : 1;  // of one
  const char* next;                                                 // this thread's first word of the coming step
  int lines;                                                        // of the operand, less this thread's first
  Word held[kFours][4];

  __device__ static int my_line() { return kKFirst ? thread() / 4 : thread() % 32 * 4; }
  __device__ static int my_k() { return kKFirst ? thread() % 4 * 4 * Element::kTileK : thread() / 32; }
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }

  __device__ Fetch(const void* operand, int first_line, int first_k, long long leading, int all_lines) {
    const int line = first_line + my_line();
    const int d = first_k + my_k();
    next = static_cast<const char*>(operand) +
           (line * (kKFirst ? leading : 1LL) + d * (kKFirst ? 1LL : leading)) * kElementBytes;
    lines = all_lines - line;
  }

  __device__ const char* place(int i, long long leading) const {
    return next + (kKFirst ? kLineStep : kStepK) * i * leading * kElementBytes;
  }
  __device__ void advance(long long leading) {
    next += kKFirst ? kStep * Element::kBytes : kStep * leading * kElementBytes;
  }
  // A step that lies inside the operand, in rows that begin at multiples of 16 bytes; or nothing. FP32 takes no branch
  // for it: so it is interleaved with the FMAs.
  __device__ void load_if(bool whole, long long leading) {
#pragma unroll
    for (int i = 0; i < kFours; ++i) Element::read_vector_if(whole, held[i], place(i, leading));
    advance(leading);
  }
  // Outside the operand there are zeros; a vector is read only where all of it is inside. `k` are left from the
  // step on; `leading` and `vector` (16-byte loads may be used) come from the kernel's parameters, and so take no
  // registers.
  __device__ void load(int k, long long leading, int vector) {
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      const char* p = place(i, leading);
      const int lines_left = lines - kLineStep * i;
      const int k_left = k - my_k() - kStepK * i;
      if (vector && lines_left > (kKFirst ? 0 : 3) && k_left >= kFourK) {
        Element::read_vector(held[i], p);
      } else {
        load_words(held[i], p, lines_left, k_left);
      }
    }
  }
  __device__ static void load_words(Word (&to)[4], const char* p, int lines_left, int k_left) {
    if constexpr (Element::kTileK == 4) {
      const uint4 four = read_elements<1>(p, lines_left > 0 ? min(max(k_left, 0), 16) : 0);
      to[0] = static_cast<int>(four.x);
      to[1] = static_cast<int>(four.y);
      to[2] = static_cast<int>(four.z);
      to[3] = static_cast<int>(four.w);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const bool there = lines_left > (kKFirst ? 0 : i) && k_left > (kKFirst ? i : 0);
        to[i] = there ? Element::read(p + i * Element::kBytes) : 0.0F;
      }
    }
  }

  // How far the lines of one k are moved.
  __device__ static constexpr int moved(int k) {
    return kKFirst ? k / 4 % 4 * 8 : 0;
  }
  __device__ void store(Word (*shared)[kTile]) const {
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      if constexpr (kKFirst) {
        const int d = thread() % 4 * 4;
        const int line = (thread() / 4 ^ kExchange ^ moved(d)) + kLineStep * i;
#pragma unroll
        for (int j = 0; j < 4; ++j) shared[d + j][line] = held[i][j];
      } else {
        *reinterpret_cast<float4*>(&shared[my_k() + kStepK * i][my_line()]) =
            make_float4(held[i][kExchange], held[i][1 - kExchange], held[i][2 + kExchange], held[i][3 - kExchange]);
      }
    }
  }
  // kCount lines of one k, from `line` on: four in a row, kLanes · 4 apart.
  template <int kCount, int kLanes>
  __device__ static void read(Word (&to)[kCount], const Word (*shared)[kTile], int k, int line) {
    constexpr int kApart = kLanes * 4;
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i) {
      // The lanes' own bits of the line and those of `i` are moved apart: the latter are known when it is compiled.
      const int inside = line ^ moved(k) % kApart;
      read_four(&to[4 * i], &shared[k][inside + (i * kApart ^ moved(k) / kApart * kApart)]);
    }
  }
};

template <class Accumulators>
__device__ inline void write_tile(const GpuCall& call, const Accumulators& acc, int first_row, int first_column) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int part = 0; part < kColumns / 4; ++part) {
      const decltype(acc.get(0, 0)) four[4] = {acc.get(i, part * 4 + kCross), acc.get(i, part * 4 + 1 - kCross),
                                               acc.get(i, part * 4 + 2 + kCross), acc.get(i, part * 4 + 3 - kCross)};
      write_accumulators<4>(call, first_row + i % 4 + i / 4 * kLanesDown * 4, first_column + part * kLanesAcross * 4,
                            four);
    }
  }
}

// kAkm: A is stored [k,m]; kBnk: B is stored [n,k].
template <class Element, bool kAkm, bool kBnk>
__device__ void simt_gemm(const GpuCall& call) {
  using Word = typename Element::Word;
  using A = Fetch<Element, !kAkm, 0>;
  using B = Fetch<Element, kBnk, kCross>;
  __shared__ __align__(128) Word shared_a[2][kStep][kTile];
  __shared__ __align__(128) Word shared_b[2][kStep][kTile];
  constexpr int kTileK = A::kStageK;
  constexpr Order kOrder = kBnk ? Order::squares : Order::rows;
  const int2 first = tile_corner<kTile, kTile>(call);
  const int2 range = k_range(call);
  A a(call.a, first.x, range.x, call.lda, call.m);
  B b(call.b, first.y, range.x, call.ldb, call.n);
  const bool whole = call.a_aligned && call.b_aligned && first.x + kTile <= call.m && first.y + kTile <= call.n;

  // Warps lie 2 down and 2 across; in a warp, threads 4 down and 8 across, in an order in which every other lane, or
  // every other pair, reads the same 16 bytes: two wavefronts then serve a warp.
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int my_row = warp % 2 * 64 + ((lane & 1) | (lane >> 1 & 2)) * 4;
  const int my_column = warp / 2 * 64 + ((lane >> 1 & 1) | (lane >> 2 & 6)) * 4;

  typename Element::Accumulators acc;
  acc.clear();

  if (range.y > 0) {
    a.load(range.y, call.lda, call.a_aligned);
    b.load(range.y, call.ldb, call.b_aligned);
    a.advance(call.lda);
    b.advance(call.ldb);
    a.store(shared_a[0]);
    b.store(shared_b[0]);
  }
  __syncthreads();
  Word rows[2][kRows];
  Word columns[2][kColumns];
  A::template read<kRows, kLanesDown>(rows[0], shared_a[0], 0, my_row);
  B::template read<kColumns, kLanesAcross>(columns[0], shared_b[0], 0, my_column);
  int now = 0;
#pragma unroll 1
  for (int left = range.y; left > 0; left -= kTileK) {
    const bool inside = whole && left >= 2 * kTileK;
    if (!inside && left > kTileK) {
      a.load(left - kTileK, call.lda, call.a_aligned);
      b.load(left - kTileK, call.ldb, call.b_aligned);
    }
    a.load_if(inside, call.lda);
    b.load_if(inside, call.ldb);
#pragma unroll
    for (int d = 0; d < kStep; ++d) {
      if (d == kStep - 1) {
        // After the last step too, where nobody reads it: no branch here either.
        a.store(shared_a[1 - now]);
        b.store(shared_b[1 - now]);
        __syncthreads();
        now = 1 - now;
      }
      A::template read<kRows, kLanesDown>(rows[(d + 1) % 2], shared_a[now], (d + 1) % kStep, my_row);
      B::template read<kColumns, kLanesAcross>(columns[(d + 1) % 2], shared_b[now], (d + 1) % kStep, my_column);
      acc.template mma_step<kOrder>(rows[d % 2], columns[d % 2]);
    }
  }
  const int2 here = tile_corner<kTile, kTile>(call);
  write_tile(call, acc, here.x + my_row, here.y + my_column);
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

#define PBPROBE_SIMT_KERNEL(name, layout, element, a_km, b_nk)                                                      \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::kThreads, pbprobe::PBPROBE_TARGET::kBlocks) \
      name##_##layout(PBPROBE_PARAMETER pbprobe::GpuCall call) {                                                    \
    pbprobe::PBPROBE_TARGET::simt_gemm<pbprobe::PBPROBE_TARGET::element, a_km, b_nk>(call);                         \
  }
#define PBPROBE_SIMT_KMAJOR(name, element) PBPROBE_SIMT_KERNEL(name, nt, element, false, true)
#define PBPROBE_SIMT_LAYOUTS(name, element)            \
  PBPROBE_SIMT_KMAJOR(name, element)                   \
  PBPROBE_SIMT_KERNEL(name, nn, element, false, false) \
  PBPROBE_SIMT_KERNEL(name, tn, element, true, false)  \
  PBPROBE_SIMT_KERNEL(name, tt, element, true, true)
PBPROBE_SIMT_LAYOUTS(gemm_fp32_128x128, PlainFp32)
