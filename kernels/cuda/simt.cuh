// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GEMM without tensor cores, for every SM. A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N].
//   PlainFp32     fma.rn.f32, all four layouts
//   WidenedBf16   the same, of BF16 that becomes FP32 on its way to shared memory: for an SM without BF16
//   DotInt8       dp4a, four k a word: along k only
// Each thread computes 16 × 8 of C, as eight squares of 4 × 4, or 8 × 8. A block of four warps computes 128 × 128 in
// steps of 16 words along k, or 64 × 64, where each warp takes a quarter of k in steps of 8 and their sums are added at
// the end, or for few rows 64 or 32 × 256; eight warps of 8 × 8 a thread compute 128 × 128, where rows are unaligned
// and on SM90. The next step is loaded while the current one is computed from shared memory (two buffers), and its next
// k while the current one is computed from registers. Source: CUDA C++ Programming Guide, shared memory and its banks;
// PTX ISA, fma.rn.f32, fma.rn.f32x2 and dp4a.
//
// A family header: the target's file defines PBPROBE_TARGET, and PBPROBE_PACKED_FMA where the SM has FFMA2.
#pragma once

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 1000
#undef PBPROBE_PACKED_FMA  // compiled to PTX of an older SM
#endif

#ifndef PBPROBE_MEDIUM_SQUARES
#define PBPROBE_MEDIUM_SQUARES 0  // 1: Order::squares in tiles of 64 × 64 for every layout
#endif

#ifndef PBPROBE_LARGE_ROWS
#define PBPROBE_LARGE_ROWS 16  // rows of C of a thread in tiles of 128 × 128
#endif

#include "kernels/cuda/pdl.cuh"
#include "kernels/cuda/simt_fetch.cuh"
#include "kernels/cuda/write_lines.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kColumns = 8;    // columns of C of a thread
constexpr int kLanesDown = 4;  // lanes of a warp
constexpr int kLanesAcross = 8;

// Rows and columns of a block; rows of a thread; words along k of a step; groups of warps that share k; blocks of an
// SM, which bound the registers; whether a thread reads unaligned rows word by word.
template <int kDown_, int kAcross_, int kRows_, int kStep_, int kGroups_, int kBlocks_, bool kByWords_>
struct SimtTile {
  static constexpr int kDown = kDown_;
  static constexpr int kAcross = kAcross_;
  static constexpr int kRows = kRows_;
  static constexpr int kStep = kStep_;
  static constexpr int kGroups = kGroups_;
  static constexpr int kBlocks = kBlocks_;
  static constexpr bool kByWords = kByWords_;
  static constexpr int kOfGroup = kDown * kAcross / (kRows * kColumns);  // threads
  static constexpr int kThreads = kOfGroup * kGroups;
  static constexpr int kOfWarp = kRows * kLanesDown;  // rows
};
// In the first tile, reads by words would spill registers: a pass aligns unaligned rows before (plan_reading()).
using SimtLarge = SimtTile<128, 128, PBPROBE_LARGE_ROWS, 16, 1, 2, false>;
using SimtWords = SimtTile<128, 128, 8, 8, 1, 2, true>;
using SimtMedium = SimtTile<64, 64, 16, 8, 4, 2, true>;
using SimtWide64 = SimtTile<64, 256, 16, 8, 1, 2, true>;
using SimtWide32 = SimtTile<32, 256, 8, 16, 1, 3, false>;

// Registers are in two banks, odd and even; each bank gives one word a clock. An FMA reads its sum and its column; its
// row is still held from the previous FMA. Both words come from contiguous fours: columns in the order of shared
// memory, accumulators in the order of C. Neighbouring columns are therefore swapped in shared memory, so that sum and
// column are in different banks.
#ifdef PBPROBE_PACKED_FMA
constexpr int kCross = 0;
#else
constexpr int kCross = 1;
#endif

// Order of one k's FMAs, which ptxas mostly keeps. Trials found the order with the fewest stalls on register reads.
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
template <int kRows>
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
template <int kRows>
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

template <int kRows>
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

template <class Word, int kRows>
struct AccumulatorsOf {
  using Type = FloatAccumulators<kRows>;
};
template <int kRows>
struct AccumulatorsOf<int, kRows> {
  using Type = IntegerAccumulators<kRows>;
};

template <int kRows, class Accumulators>
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

// The groups' sums of each element, one half of the columns after the other, so that the stages' memory holds them.
template <class Tile, class Accumulators, class Word>
__device__ inline void write_sums(const GpuCall& call, const Accumulators& acc, Word (*sums)[64][32], int2 first,
                                  int my_row, int my_column) {
  const int group = static_cast<int>(threadIdx.x) / Tile::kOfGroup;
  constexpr int kThreads = Tile::kThreads;
  // Fours of a row are permuted by the row, so that neither storing nor reading has bank conflicts.
  const auto moved = [](int row) { return row / 4 % 4 * 8; };
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Tile::kRows; ++i) {
      const int row = my_row + i % 4 + i / 4 * kLanesDown * 4;
#pragma unroll
      for (int j = 0; j < 4; ++j) sums[group][row][(my_column ^ moved(row)) + j] = acc.get(i, half * 4 + (j ^ kCross));
    }
    __syncthreads();
    write_lines<64, 32, kThreads, 4>(call, make_int2(first.x, first.y + half * 32), [&](int i, int) {
      const int row = static_cast<int>(threadIdx.x) / 32 * (64 / (kThreads / 32)) + i;
      const int column = static_cast<int>(threadIdx.x) % 32 ^ moved(row);
      Word all = sums[0][row][column];
#pragma unroll
      for (int other = 1; other < Tile::kGroups; ++other) all += sums[other][row][column];
      return all;
    });
  }
}

// kAkm: A is stored [k,m]; kBnk: B is stored [n,k].
template <class Tile, class Element, bool kAkm, bool kBnk>
__device__ void simt_gemm(const GpuCall& call) {
  using Word = typename Element::Word;
  using A = Fetch<Tile, Tile::kDown, Element, !kAkm, 0>;
  using B = Fetch<Tile, Tile::kAcross, Element, kBnk, kCross>;
  constexpr int kRows = Tile::kRows;
  constexpr int kStep = Tile::kStep;
  constexpr int kTileK = A::kStageK;
  // In tiles of 32 rows, Order::rows would spill registers.
  constexpr Order kOrder =
      kBnk || Tile::kDown < 64 || (PBPROBE_MEDIUM_SQUARES && Tile::kGroups > 1) ? Order::squares : Order::rows;
  struct Stages {
    Word a[2][kStep][A::kLine];
    Word b[2][kStep][B::kLine];
  };
  __shared__ __align__(128) Stages stages[Tile::kGroups];
  const int group = static_cast<int>(threadIdx.x) / Tile::kOfGroup;
  auto* const shared_a = stages[group].a;
  auto* const shared_b = stages[group].b;
  const int2 first = tile_corner<Tile::kDown, Tile::kAcross>(call);
  int2 range = k_range(call);
  if constexpr (Tile::kGroups > 1) {
    const int part = (range.y + kTileK * Tile::kGroups - 1) / (kTileK * Tile::kGroups) * kTileK;
    range = make_int2(range.x + group * part, min(range.y - group * part, part));
  }
  A a(call.a, first.x, range.x, call.lda, call.m, call.a_aligned);
  B b(call.b, first.y, range.x, call.ldb, call.n, call.b_aligned);
  const bool by_vectors =
      call.a_aligned && call.b_aligned && A::has_vectors(first.x, call.m) && B::has_vectors(first.y, call.n);
  const auto barrier = [] {
    if constexpr (Tile::kOfGroup > 32) {
      __syncthreads();
    } else {
      __syncwarp();
    }
  };

  // Threads of a warp are placed 4 down and 8 across, in an order in which every other lane, or every other pair, reads
  // the same 16 bytes: two wavefronts then serve a warp.
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) % Tile::kOfGroup / 32;
  constexpr int kDown = Tile::kDown / Tile::kOfWarp;  // warps
  const int my_row = warp % kDown * Tile::kOfWarp + ((lane & 1) | (lane >> 1 & 2)) * 4;
  const int my_column = warp / kDown * 64 + ((lane >> 1 & 1) | (lane >> 2 & 6)) * 4;

  typename AccumulatorsOf<Word, kRows>::Type acc;
  acc.clear();

  launch_dependents();
  wait_on_dependencies();
  if (range.y > 0) {
    a.load(range.y, call.lda, call.a_aligned);
    b.load(range.y, call.ldb, call.b_aligned);
    a.advance(call.lda);
    b.advance(call.ldb);
    a.store(shared_a[0], call.a_aligned);
    b.store(shared_b[0], call.b_aligned);
  }
  barrier();
  Word rows[2][kRows];
  Word columns[2][kColumns];
  A::template read<kRows, kLanesDown>(rows[0], shared_a[0], 0, my_row);
  B::template read<kColumns, kLanesAcross>(columns[0], shared_b[0], 0, my_column);
  int now = 0;
#pragma unroll 1
  for (int left = range.y; left > 0; left -= kTileK) {
    const bool inside = by_vectors && left >= 2 * kTileK;
    if (!inside && left > kTileK) {
      a.load(left - kTileK, call.lda, call.a_aligned);
      b.load(left - kTileK, call.ldb, call.b_aligned);
    }
    a.load_if(inside, call.lda);
    b.load_if(inside, call.ldb);
#pragma unroll
    for (int d = 0; d < kStep; ++d) {
      if (d == kStep - 1) {
        // The last step stores too, although no thread reads it: this avoids a branch.
        a.store(shared_a[1 - now], call.a_aligned);
        b.store(shared_b[1 - now], call.b_aligned);
        barrier();
        now = 1 - now;
      }
      A::template read<kRows, kLanesDown>(rows[(d + 1) % 2], shared_a[now], (d + 1) % kStep, my_row);
      B::template read<kColumns, kLanesAcross>(columns[(d + 1) % 2], shared_b[now], (d + 1) % kStep, my_column);
      acc.template mma_step<kOrder>(rows[d % 2], columns[d % 2]);
    }
  }
  const int2 here = tile_corner<Tile::kDown, Tile::kAcross>(call);
  if constexpr (Tile::kGroups > 1) {
    static_assert(sizeof(stages) >= sizeof(Word[Tile::kGroups][64][32]), "sums lie where the stages were");
    write_sums<Tile>(call, acc, reinterpret_cast<Word(*)[64][32]>(stages), here, my_row, my_column);
  } else {
    write_tile<kRows>(call, acc, here.x + my_row, here.y + my_column);
  }
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

#define PBPROBE_SIMT_KERNEL(name, layout, tile, element, a_km, b_nk)                                                 \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::tile::kThreads,                              \
                                               pbprobe::PBPROBE_TARGET::tile::kBlocks)                               \
      name##_##layout(PBPROBE_PARAMETER pbprobe::GpuCall call) {                                                     \
    pbprobe::PBPROBE_TARGET::simt_gemm<pbprobe::PBPROBE_TARGET::tile, pbprobe::PBPROBE_TARGET::element, a_km, b_nk>( \
        call);                                                                                                       \
  }
#define PBPROBE_SIMT_KMAJOR(name, tile, element) PBPROBE_SIMT_KERNEL(name, nt, tile, element, false, true)
#define PBPROBE_SIMT_LAYOUTS(name, tile, element)            \
  PBPROBE_SIMT_KMAJOR(name, tile, element)                   \
  PBPROBE_SIMT_KERNEL(name, nn, tile, element, false, false) \
  PBPROBE_SIMT_KERNEL(name, tn, tile, element, true, false)  \
  PBPROBE_SIMT_KERNEL(name, tt, tile, element, true, true)
PBPROBE_SIMT_LAYOUTS(gemm_fp32_128x128, SimtLarge, PlainFp32)
PBPROBE_SIMT_LAYOUTS(gemm_fp32_64x64, SimtMedium, PlainFp32)
