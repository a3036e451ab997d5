// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GEMM by mma.sync for small and unaligned problems, in one launch and little code: a block that runs once waits for
// each of its instructions. A[M,K], B[N,K] → C[M,N].
// Lines of A and B lie in shared memory as they do in memory, each from the 16 bytes on in which it begins; a lane
// takes its words of a fragment from there, by two reads and a permutation where a line begins inside a word. Warps of
// a block share its tile, or the k of it; their sums are added in shared memory, from where whole lines of C are
// written. Source: PTX ISA, "Matrix Fragments for mma.m16n8k16" and its neighbours, cp.async. Family header: see
// tile.cuh.
#pragma once

#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/pdl.cuh"
#include "kernels/cuda/write_lines.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kSlab = kDirectSlab;      // bytes of k of a stage
constexpr int kSlabLine = kDirectLine;  // the same with what lies before a line's first byte

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

// The lines of one operand in this block.
template <int kLines, int kThreads, int kElement>
struct DirectLines {
  const char* first;  // the first line
  long long leading;  // bytes
  int last;           // line of the operand, less the first

  __device__ DirectLines(const void* operand, long long elements, int first_line, int lines)
      : first(static_cast<const char*>(operand) + first_line * elements * kElement),
        leading(elements * kElement),
        last(lines - 1 - first_line) {}
  // Bytes between the multiple of 16 before a line and its beginning.
  __device__ int before(int i) const {
    const auto low = static_cast<unsigned>(reinterpret_cast<unsigned long long>(first));
    return static_cast<int>((low + static_cast<unsigned>(min(i, last)) * static_cast<unsigned>(leading)) % 16);
  }
  // Sends the stage of k from byte `begin` on its way; `k_bytes`: of a line.
  __device__ void copy(unsigned to, int thread, int begin, int k_bytes) const {
    const auto piece = [&](int i, int number) {
      const int at = begin + number * 16 - before(i);
      copy_part_async(to + i * kSlabLine + number * 16, first + min(i, last) * leading + at,
                      i <= last ? max(min(k_bytes - at, 16), 0) : 0);
    };
#pragma unroll
    for (int i = thread / 4; i < kLines; i += kThreads / 4) piece(i, thread % 4);
#pragma unroll
    for (int i = thread; i < kLines; i += kThreads) piece(i, 4);
  }
};

// Words of one line in a stage, from any byte on.
template <int kElement>
struct DirectWords {
  unsigned offset;    // of this lane's first word, in a stage
  unsigned selector;  // of its bytes in two words

  // `before`: DirectLines::before() of the line that begins at `place`.
  __device__ void set(int place, int before) {
    offset = static_cast<unsigned>(place + before / 4 * 4 + static_cast<int>(threadIdx.x) % 4 * 4);
    selector = 0x3210U + 0x1111U * static_cast<unsigned>(before % 4);
  }
  __device__ unsigned at(unsigned stage, int byte) const {
    const unsigned from = stage + offset + byte;
    unsigned low;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(low) : "r"(from) : "memory");
    if constexpr (kElement == 4) return low;
    unsigned high;
    asm volatile("ld.shared.b32 %0, [%1+4];" : "=r"(high) : "r"(from) : "memory");
    return __byte_perm(low, high, selector);
  }
};

// TF32 is rounded here; other types are what they are.
template <class Op>
__device__ inline unsigned operand_word(unsigned bits) {
  if constexpr (Op::kElement == 4) Op::round(bits);
  return bits;
}

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
  const DirectLines<Tile::kM, Tile::kOfGroup, Op::kElement> a(call.a, call.lda, first.x, call.m);
  const DirectLines<Tile::kN, Tile::kOfGroup, Op::kElement> b(call.b, call.ldb, first.y, call.n);
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
#pragma unroll
  for (int i = 0; i < Tile::kDown * 2; ++i) {
    const int line = my_row + i * 8 + lane / 4;
    rows_a[i / 2][i % 2].set(line * kSlabLine, a.before(line));
  }
#pragma unroll
  for (int j = 0; j < Tile::kAcross; ++j) {
    const int line = my_column + j * 8 + lane / 4;
    columns_b[j].set((Tile::kM + line) * kSlabLine, b.before(line));
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
    // The stage that goes on its way takes the place of the one that was computed last.
    if (ahead < end) {
      const unsigned to = base + slot * Tile::kStageBytes;
      a.copy(to, inside, ahead, k_bytes);
      b.copy(to + Tile::kM * kSlabLine, inside, ahead, k_bytes);
    }
    end_copies();
    slot = slot + 1 == Tile::kStages ? 0 : slot + 1;
    if (begin < first_byte) continue;
    const unsigned stage = base + slot * Tile::kStageBytes;
#pragma unroll
    for (int k = 0; k < kSlab; k += 32) {
      if (begin + k >= end) break;
      unsigned words_b[Tile::kAcross][2];
#pragma unroll
      for (int j = 0; j < Tile::kAcross; ++j) {
        words_b[j][0] = operand_word<Op>(columns_b[j].at(stage, k));
        words_b[j][1] = operand_word<Op>(columns_b[j].at(stage, k + 16));
      }
#pragma unroll
      for (int i = 0; i < Tile::kDown; ++i) {
        const unsigned words_a[4] = {
            operand_word<Op>(rows_a[i][0].at(stage, k)), operand_word<Op>(rows_a[i][1].at(stage, k)),
            operand_word<Op>(rows_a[i][0].at(stage, k + 16)), operand_word<Op>(rows_a[i][1].at(stage, k + 16))};
#pragma unroll
        for (int j = 0; j < Tile::kAcross; ++j) Op::mma(acc[i][j], words_a, words_b[j][0], words_b[j][1]);
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
