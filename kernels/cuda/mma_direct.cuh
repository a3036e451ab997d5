// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GEMM by mma.sync for small and unaligned problems, in one launch and little code: a block that runs once waits for
// each of its instructions. A[M,K], B[N,K] → C[M,N].
// Shared memory holds each line of A and B from the memory word on in which the line begins. A lane takes 16 bytes of a
// line for two or four MMAs, whose k have the same order in A as in B, and shifts them if the line begins inside a
// word. Warps of a block share its tile, or its k; their sums are added in shared memory, from which whole lines of C
// are written. Source: PTX ISA, "Matrix Fragments for mma.m16n8k16" and its neighbours, cp.async. Family header: see
// tile.cuh.
#pragma once

#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/pdl.cuh"
#include "kernels/cuda/write_lines.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kSlab = kDirectSlab;      // bytes of k of a stage
constexpr int kSlabLine = kDirectLine;  // kSlab, and 16 bytes for the word that follows

// Rows of 16 and columns of 8 that a warp computes; warps down, across, and along k; stages.
template <class Op_, int kDown_, int kAcross_, int kWarpsDown_, int kWarpsAcross_, int kWarpsK_, int kStages_>
struct DirectTile {
  using Op = Op_;
  static constexpr int kDown = kDown_;
  static constexpr int kAcross = kAcross_;
  static constexpr int kWarpsDown = kWarpsDown_;
  static constexpr int kWarpsAcross = kWarpsAcross_;
  static constexpr int kWarpsK = kWarpsK_;
  static constexpr int kStages = kStages_;
  static constexpr int kM = kWarpsDown * kDown * 16;
  static constexpr int kN = kWarpsAcross * kAcross * 8;
  static constexpr int kOfGroup = kWarpsDown * kWarpsAcross * 32;  // threads that share k
  static constexpr int kThreads = kOfGroup * kWarpsK;
  static constexpr int kStageBytes = (kM + kN) * kSlabLine;
  static constexpr int kSharedBytes = direct_shared_bytes(kM + kN, kWarpsK, kStages);
};

// Returns the place of line i of a stage. The second of two neighbours is four lines on, so that a quarter of a warp
// reads 16 bytes a lane from all banks.
__device__ constexpr int direct_place(int i) {
  return ((i & ~7) | ((i & 7) >> 1) | ((i & 1) << 2)) * kSlabLine;
}
// Copies a word, of which the first `bytes` exist; the others become zeros.
__device__ inline void copy_word_async(unsigned to, const char* from, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

// The lines of one operand in this block, of which a thread copies one word of every kStep-th.
template <int kLines, int kThreads, int kElement>
struct DirectLines {
  static constexpr int kWords = kSlab / 4;
  static constexpr int kStep = kThreads / kWords;
  static constexpr bool kAlike = kStep * kElement % 4 == 0;  // this thread's lines begin at the same byte of a word
  const char* first;                                         // this thread's first word of the first one
  long long leading;                                         // bytes
  int lines;                                                 // lines of the operand from this thread's first on
  int word;                                                  // byte of this thread's word in a line

  __device__ DirectLines(const void* operand, long long elements, int first_line, int all, int thread)
      : leading(elements * kElement), lines(all - first_line - thread / kWords), word(thread % kWords * 4) {
    first = static_cast<const char*>(operand) + (first_line + thread / kWords) * leading + word;
  }
  // Bytes from a word's begin to `at`.
  __device__ static int inside(const char* at) {
    return static_cast<int>(reinterpret_cast<unsigned long long>(at) % 4);
  }
  // Starts the copy of the stage that begins at byte `begin` of k. It copies the words of each line that hold a byte of
  // the stage. `k_bytes`: bytes of a line; zeros follow them.
  __device__ void copy(unsigned to, int thread, int begin, int k_bytes) const {
    const char* from = first + begin;
    const int left = k_bytes - begin - word;
    to += direct_place(thread / kWords) + word;
    int before = kElement == 4 ? 0 : inside(from);
#pragma unroll 8
    for (int i = 0; i < kLines / kStep; ++i) {
      if (!kAlike) before = inside(from + i * kStep * leading);
      copy_word_async(to + direct_place(i * kStep), from + i * kStep * leading - before,
                      lines > i * kStep ? min(max(left + before, 0), 4) : 0);
    }
  }
  // Copies the word behind each line, for lines that begin inside a word.
  __device__ void copy_last(unsigned to, int thread, int begin, int k_bytes) const {
    const int line = thread / kWords;
    const char* from = first - line * leading - word + begin + kSlab;
#pragma unroll 1
    for (int i = thread; i < kLines; i += kThreads) {
      const char* at = from + i * leading;
      copy_word_async(to + direct_place(i) + kSlab, at - inside(at),
                      lines + line > i ? min(max(k_bytes - begin - kSlab + inside(at), 0), 4) : 0);
    }
  }
};

// Four words of one line in a stage, which begins at any byte of a word.
template <int kElement>
struct DirectWords {
  unsigned offset;
  unsigned selector;  // picks a word's bytes out of two words

  __device__ void set(unsigned place, const char* line) {
    offset = place;
    selector = 0x3210U + 0x1111U * static_cast<unsigned>(reinterpret_cast<unsigned long long>(line) % 4);
  }
  __device__ void read(unsigned (&words)[4], unsigned stage) const {
    const unsigned from = stage + offset;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(from)
                 : "memory");
    if constexpr (kElement != 4) {
      unsigned next;
      asm volatile("ld.shared.b32 %0, [%1+16];" : "=r"(next) : "r"(from) : "memory");
      words[0] = __byte_perm(words[0], words[1], selector);
      words[1] = __byte_perm(words[1], words[2], selector);
      words[2] = __byte_perm(words[2], words[3], selector);
      words[3] = __byte_perm(words[3], next, selector);
    }
  }
};

// TF32 is rounded here; other types are what they are.
template <class Op>
__device__ inline unsigned operand_word(unsigned bits) {
  if constexpr (Op::kElement == 4) Op::round(bits);
  return bits;
}

// An operand of gemv.cuh.
struct RoundedTf32 {
  __device__ static float of(float value) { return __uint_as_float(operand_word<Tf32>(__float_as_uint(value))); }
};

template <class Tile>
__device__ inline void direct_gemm(const GpuCall& call) {
  using Op = typename Tile::Op;
  using Accumulator = typename Op::Accumulator;
  using Two = typename Vectors<Accumulator>::Two;
  using Words = DirectWords<Op::kElement>;
  using Sums = Accumulator[Tile::kM][Tile::kN + 8];  // the 8 spread rows over the banks
  static_assert(sizeof(Sums) * Tile::kWarpsK <= Tile::kSharedBytes, "sums lie where the stages were");
  extern __shared__ __align__(128) unsigned char ring[];
  const int2 first = tile_corner<Tile::kM, Tile::kN>(call);
  const int2 range = k_range(call);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int group = static_cast<int>(threadIdx.x) / Tile::kOfGroup;
  const int inside = static_cast<int>(threadIdx.x) % Tile::kOfGroup;
  const int my_row = inside / 32 % Tile::kWarpsDown * Tile::kDown * 16;
  const int my_column = inside / 32 / Tile::kWarpsDown * Tile::kAcross * 8;
  const DirectLines<Tile::kM, Tile::kOfGroup, Op::kElement> a(call.a, call.lda, first.x, call.m, inside);
  const DirectLines<Tile::kN, Tile::kOfGroup, Op::kElement> b(call.b, call.ldb, first.y, call.n, inside);
  const auto barrier = [] {
    if constexpr (Tile::kWarpsK == 1) {
      __syncthreads();
    } else if constexpr (Tile::kOfGroup == 32) {
      __syncwarp();
    } else {
      asm volatile("bar.sync %0, %1;" ::"r"(static_cast<int>(threadIdx.x) / Tile::kOfGroup + 1), "n"(Tile::kOfGroup)
                   : "memory");
    }
  };
  Accumulator acc[Tile::kDown][Tile::kAcross][4] = {};
  Words rows_a[Tile::kDown][2];
  Words columns_b[Tile::kAcross];
  const char* const lines_a = static_cast<const char*>(call.a) + first.x * call.lda * Op::kElement;
  const char* const lines_b = static_cast<const char*>(call.b) + first.y * call.ldb * Op::kElement;
  const unsigned quarter = lane % 4 * 16;
#pragma unroll
  for (int i = 0; i < Tile::kDown * 2; ++i) {
    const int line = my_row + i * 8 + lane / 4;
    rows_a[i / 2][i % 2].set(direct_place(line) + quarter, lines_a + line * call.lda * Op::kElement);
  }
#pragma unroll
  for (int j = 0; j < Tile::kAcross; ++j) {
    const int line = my_column + j * 8 + lane / 4;
    columns_b[j].set(Tile::kM * kSlabLine + direct_place(line) + quarter, lines_b + line * call.ldb * Op::kElement);
  }
  launch_dependents();
  wait_on_dependencies();
  // Stages of this part of k, of which each group takes every kWarpsK-th.
  const int k_bytes = call.k * Op::kElement;
  const int end = (range.x + range.y) * Op::kElement;
  const int step = Tile::kWarpsK * kSlab;
  const unsigned base = shared_address(ring) + group * Tile::kStages * Tile::kStageBytes;
  const int first_byte = range.x * Op::kElement + group * kSlab;
  unsigned slot = 0;
  int begin = first_byte - (Tile::kStages - 1) * step;
#pragma unroll 1
  for (int ahead = first_byte; begin < end; begin += step, ahead += step) {
    if (begin >= first_byte) {
      await_copies<Tile::kStages - 2>();
      barrier();
    }
    unsigned words_a[Tile::kDown][2][4];
    unsigned words_b[Tile::kAcross][4];
    // The stage that goes on its way takes the place of the one that was computed last.
    const unsigned to = base + slot * Tile::kStageBytes;
    slot = slot + 1 == Tile::kStages ? 0 : slot + 1;
    if (begin >= first_byte) {
      const unsigned stage = base + slot * Tile::kStageBytes;
#pragma unroll
      for (int j = 0; j < Tile::kAcross; ++j) columns_b[j].read(words_b[j], stage);
#pragma unroll
      for (int i = 0; i < Tile::kDown * 2; ++i) rows_a[i / 2][i % 2].read(words_a[i / 2][i % 2], stage);
    }
    if (ahead < end) {
      a.copy(to, inside, ahead, k_bytes);
      b.copy(to + Tile::kM * kSlabLine, inside, ahead, k_bytes);
      if constexpr (Op::kElement != 4) {
        a.copy_last(to, inside, ahead, k_bytes);
        b.copy_last(to + Tile::kM * kSlabLine, inside, ahead, k_bytes);
      }
    }
    end_copies();
    if (begin < first_byte) continue;
#pragma unroll
    for (int k = 0; k < 4; k += 2) {
#pragma unroll
      for (int j = 0; j < Tile::kAcross; ++j) {
        words_b[j][k] = operand_word<Op>(words_b[j][k]);
        words_b[j][k + 1] = operand_word<Op>(words_b[j][k + 1]);
      }
#pragma unroll
      for (int i = 0; i < Tile::kDown; ++i) {
        const unsigned fragment[4] = {operand_word<Op>(words_a[i][0][k]), operand_word<Op>(words_a[i][1][k]),
                                      operand_word<Op>(words_a[i][0][k + 1]), operand_word<Op>(words_a[i][1][k + 1])};
#pragma unroll
        for (int j = 0; j < Tile::kAcross; ++j) Op::mma(acc[i][j], fragment, words_b[j][k], words_b[j][k + 1]);
      }
    }
  }
  await_copies<0>();
  __syncthreads();
  auto* const sums = reinterpret_cast<Sums*>(ring);
#pragma unroll
  for (int i = 0; i < Tile::kDown; ++i) {
#pragma unroll
    for (int j = 0; j < Tile::kAcross; ++j) {
      const auto& four = acc[i][j];
      Accumulator* to = &sums[group][my_row + i * 16 + lane / 4][my_column + j * 8 + lane % 4 * 2];
      *reinterpret_cast<Two*>(to) = Two{four[0], four[1]};
      *reinterpret_cast<Two*>(to + 8 * (Tile::kN + 8)) = Two{four[2], four[3]};
    }
  }
  __syncthreads();
  constexpr int kDeep = Tile::kM / (Tile::kThreads / 32);  // rows that a warp writes
  write_lines<Tile::kM, Tile::kN, Tile::kThreads, 4>(call, first, [&](int i, int j) {
    const int row = static_cast<int>(threadIdx.x) / 32 * kDeep + i;
    const int column = j * 32 + lane;
    Accumulator all = sums[0][row][column];
#pragma unroll
    for (int other = 1; other < Tile::kWarpsK; ++other) all += sums[other][row][column];
    return all;
  });
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

// Blocks of an SM, and DirectTile's parameters.
#define PBPROBE_MMA_DIRECT(name, blocks, ...)                                                          \
  namespace pbprobe::PBPROBE_TARGET {                                                                  \
  namespace {                                                                                          \
  using Tile_##name = DirectTile<__VA_ARGS__>;                                                         \
  }                                                                                                    \
  }                                                                                                    \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::Tile_##name::kThreads, blocks) \
      name##_nt(PBPROBE_PARAMETER pbprobe::GpuCall call) {                                             \
    pbprobe::PBPROBE_TARGET::direct_gemm<pbprobe::PBPROBE_TARGET::Tile_##name>(call);                  \
  }
