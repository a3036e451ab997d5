// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GEMM without tensor cores, for every SM. A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N].
//   PlainFp32     fma.rn.f32, all four layouts
//   WidenedBf16   the same, of BF16 that becomes FP32 on its way to shared memory: for an SM without BF16
//   DotInt8       dp4a, four k a word: along k only
// Each warp computes 64 × 64 of C, each thread 16 × 8 of them as eight squares of 4 × 4. A block of four warps computes
// 128 × 128 in steps of 16 words along k, or 64 × 64, where each warp takes a quarter of k in steps of 8 and their sums
// are added at the end. The next step is loaded while the current one is computed from shared memory (two buffers), and
// its next k while the current one is computed from registers.
// Source: CUDA C++ Programming Guide, shared memory and its banks; PTX ISA, fma.rn.f32, fma.rn.f32x2 and dp4a.
//
// A family header: the target's file defines PBPROBE_TARGET, and PBPROBE_PACKED_FMA where the SM has FFMA2.
#pragma once

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 1000
#undef PBPROBE_PACKED_FMA  // compiled to PTX of an older SM
#endif

#ifndef PBPROBE_MEDIUM_SQUARES
#define PBPROBE_MEDIUM_SQUARES 0  // the order of FMAs in tiles of 64 × 64, whatever lies along k
#endif

#include "kernels/cuda/pdl.cuh"
#include "kernels/cuda/write_lines.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kThreads = 128;
constexpr int kBlocks = 2;  // of an SM at once, which bounds registers
constexpr int kRows = 16;   // of C of a thread
constexpr int kColumns = 8;
constexpr int kLanesDown = 4;  // of a warp
constexpr int kLanesAcross = 8;

// Rows and columns of a block; words along k of a step; groups of warps that share k.
template <int kSide_, int kStep_, int kGroups_>
struct SimtTile {
  static constexpr int kSide = kSide_;
  static constexpr int kStep = kStep_;
  static constexpr int kGroups = kGroups_;
  static constexpr int kOfGroup = kThreads / kGroups;  // threads
  static_assert(kOfGroup / 32 * 64 * 64 == kSide * kSide, "64 × 64 a warp");
};
using SimtLarge = SimtTile<128, 16, 1>;
using SimtMedium = SimtTile<64, 8, 4>;

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

// One operand on its way from memory to shared memory: kSide lines (rows of A, columns of B) × kStep words a step.
// kKFirst: k lie next to each other in memory, so that the block is transposed while it is stored. Where rows begin at
// multiples of 16 bytes a thread takes four words at a time, else one, so that a warp reads neighbours. kExchange:
// neighbouring lines change places (0 or 1).
template <class Tile, class Element, bool kKFirst, int kExchange>
struct Fetch {
  using Word = typename Element::Word;
  static constexpr int kSide = Tile::kSide;
  static constexpr int kStep = Tile::kStep;
  static constexpr int kLine = kSide + 4;  // words of shared memory: every k is four banks on
  static constexpr int kElementBytes = Element::kBytes / Element::kTileK;
  static constexpr int kStageK = kStep * Element::kTileK;
  static constexpr int kFours = kSide * kStep / 4 / Tile::kOfGroup;  // of a thread
  static constexpr int kAlong = kStep / 4;                           // threads along k, where that is contiguous
  static constexpr int kLineStep = kKFirst ? kSide / kFours : 0;     // from one four to the next
  static constexpr int kStepK = kKFirst ? 0 : kStep / kFours;        // in words
  static constexpr int kFourK = kKFirst ? 4 * Element::kTileK : 1;   // of one
  // In the large tile registers would be spilled: there unaligned rows are mostly aligned first (reading_of()).
  static constexpr bool kByWords = Element::kTileK == 1 && Tile::kGroups > 1;
  static constexpr int kWide = kSide / Tile::kOfGroup;  // words of a thread along the lines, if these are contiguous
  const char* next;                                     // this thread's first word of the coming step
  int lines;                                            // of the operand, less this thread's first
  Word held[kFours][4];

  __device__ static int thread() { return static_cast<int>(threadIdx.x) % Tile::kOfGroup; }
  __device__ static int line_of_four() { return kKFirst ? thread() / kAlong : thread() % (kSide / 4) * 4; }
  __device__ static int k_of_four() { return kKFirst ? thread() % kAlong * 4 : thread() / (kSide / 4); }
  // Of this thread's word i.
  __device__ static int line_of_word(int i) {
    return kKFirst ? thread() / kStep + i * Tile::kOfGroup / kStep : thread() + i % kWide * Tile::kOfGroup;
  }
  __device__ static int k_of_word(int i) { return kKFirst ? thread() % kStep : i / kWide; }
  __device__ static bool by_fours(int aligned) { return !kByWords || aligned; }

  __device__ Fetch(const void* operand, int first_line, int first_k, long long leading, int all_lines, int aligned) {
    const int line = first_line + (by_fours(aligned) ? line_of_four() : line_of_word(0));
    const int my_k = (by_fours(aligned) ? k_of_four() : k_of_word(0)) * Element::kTileK;
    next = static_cast<const char*>(operand) +
           (line * (kKFirst ? leading : 1LL) + (first_k + my_k) * (kKFirst ? 1LL : leading)) * kElementBytes;
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
  // step on; `leading` and `aligned` (16-byte loads may be used) come from the kernel's parameters, and so take no
  // registers.
  __device__ void load(int k, long long leading, int aligned) {
    if (by_fours(aligned)) {
#pragma unroll
      for (int i = 0; i < kFours; ++i) {
        const char* p = place(i, leading);
        const int lines_left = lines - kLineStep * i;
        const int k_left = k - (k_of_four() + kStepK * i) * Element::kTileK;
        if (aligned && lines_left > (kKFirst ? 0 : 3) && k_left >= kFourK) {
          Element::read_vector(held[i], p);
        } else {
          load_four(held[i], p, lines_left, k_left);
        }
      }
    } else if constexpr (kByWords) {
      const char* p = next;
#pragma unroll
      for (int i = 0; i < 4 * kFours; ++i) {
        const int line = line_of_word(i) - line_of_word(0);
        held[i / 4][i % 4] =
            lines > line && k > k_of_word(i) ? Element::read(p + (kKFirst ? 0 : line * kElementBytes)) : 0.0F;
        if (kKFirst) {
          p += Tile::kOfGroup / kStep * leading * kElementBytes;
        } else if (i % kWide == kWide - 1) {
          p += leading * kElementBytes;
        }
      }
    }
  }
  __device__ static void load_four(Word (&to)[4], const char* p, int lines_left, int k_left) {
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

  // How far the lines of one k are moved, so that four threads along k store to banks of their own.
  __device__ static constexpr int moved(int k) {
    return kKFirst && kAlong == 4 ? k / 8 % 2 * 8 : 0;
  }
  __device__ void store(Word (*shared)[kLine], int aligned) const {
    if (by_fours(aligned)) {
#pragma unroll
      for (int i = 0; i < kFours; ++i) {
        if constexpr (kKFirst) {
          const int d = k_of_four();
          const int line = (line_of_four() + kLineStep * i) ^ kExchange ^ moved(d);
#pragma unroll
          for (int j = 0; j < 4; ++j) shared[d + j][line] = held[i][j];
        } else {
          *reinterpret_cast<float4*>(&shared[k_of_four() + kStepK * i][line_of_four()]) =
              make_float4(held[i][kExchange], held[i][1 - kExchange], held[i][2 + kExchange], held[i][3 - kExchange]);
        }
      }
    } else if constexpr (kByWords) {
#pragma unroll
      for (int i = 0; i < 4 * kFours; ++i) {
        const int d = k_of_word(i);
        shared[d][line_of_word(i) ^ kExchange ^ moved(d)] = held[i / 4][i % 4];
      }
    }
  }
  // kCount lines of one k, from `line` on: four in a row, kLanes · 4 apart.
  template <int kCount, int kLanes>
  __device__ static void read(Word (&to)[kCount], const Word (*shared)[kLine], int k, int line) {
    constexpr int kApart = kLanes * 4;
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i) read_four(&to[4 * i], &shared[k][(line ^ moved(k)) + i * kApart]);
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

// The groups' sums of each element, one half of the columns after the other, so that the stages' memory holds them.
template <class Tile, class Accumulators, class Word>
__device__ inline void write_sums(const GpuCall& call, const Accumulators& acc, Word (*sums)[64][32], int2 first,
                                  int my_row, int my_column) {
  const int group = static_cast<int>(threadIdx.x) / Tile::kOfGroup;
  // Fours of a row are permuted by the row, so that neither storing nor reading has bank conflicts.
  const auto moved = [](int row) { return row / 4 % 4 * 8; };
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
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
  using A = Fetch<Tile, Element, !kAkm, 0>;
  using B = Fetch<Tile, Element, kBnk, kCross>;
  constexpr int kSide = Tile::kSide;
  constexpr int kStep = Tile::kStep;
  constexpr int kTileK = A::kStageK;
  constexpr Order kOrder = kBnk || (PBPROBE_MEDIUM_SQUARES && kSide == 64) ? Order::squares : Order::rows;
  struct Stages {
    Word a[2][kStep][A::kLine];
    Word b[2][kStep][B::kLine];
  };
  __shared__ __align__(128) Stages stages[Tile::kGroups];
  const int group = static_cast<int>(threadIdx.x) / Tile::kOfGroup;
  auto* const shared_a = stages[group].a;
  auto* const shared_b = stages[group].b;
  const int2 first = tile_corner<kSide, kSide>(call);
  int2 range = k_range(call);
  if constexpr (Tile::kGroups > 1) {
    const int part = (range.y + kTileK * Tile::kGroups - 1) / (kTileK * Tile::kGroups) * kTileK;
    range = make_int2(range.x + group * part, min(range.y - group * part, part));
  }
  A a(call.a, first.x, range.x, call.lda, call.m, call.a_aligned);
  B b(call.b, first.y, range.x, call.ldb, call.n, call.b_aligned);
  const bool whole = call.a_aligned && call.b_aligned && first.x + kSide <= call.m && first.y + kSide <= call.n;
  const auto barrier = [] {
    if constexpr (Tile::kOfGroup > 32) {
      __syncthreads();
    } else {
      __syncwarp();
    }
  };

  // Warps of a group lie 2 down and 2 across; in a warp, threads 4 down and 8 across, in an order in which every other
  // lane, or every other pair, reads the same 16 bytes: two wavefronts then serve a warp.
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) % Tile::kOfGroup / 32;
  const int my_row = warp % 2 * 64 + ((lane & 1) | (lane >> 1 & 2)) * 4;
  const int my_column = warp / 2 * 64 + ((lane >> 1 & 1) | (lane >> 2 & 6)) * 4;

  typename Element::Accumulators acc;
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
  const int2 here = tile_corner<kSide, kSide>(call);
  if constexpr (Tile::kGroups > 1) {
    static_assert(sizeof(stages) >= sizeof(Word[Tile::kGroups][64][32]), "sums lie where the stages were");
    write_sums<Tile>(call, acc, reinterpret_cast<Word(*)[64][32]>(stages), here, my_row, my_column);
  } else {
    write_tile(call, acc, here.x + my_row, here.y + my_column);
  }
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

#define PBPROBE_SIMT_KERNEL(name, layout, tile, element, a_km, b_nk)                                                 \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::kThreads, pbprobe::PBPROBE_TARGET::kBlocks)  \
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
