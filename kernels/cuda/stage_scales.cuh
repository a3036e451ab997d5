// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: FP32 block scales of FP8 operands, 1 × 128 or 128 × 128, in shared memory behind the stages. Two warps, one
// for each operand, copy a stage's scales by cp.async, then arrive at the `full` barrier. Consumers multiply their sums
// of 128 products by them. Layout of a stage: scales of the tile's rows, then scales of its columns; 128 lines with one
// scale store it once. Family header: see tile.cuh. Source: PTX ISA, "cp.async", "cp.async.mbarrier.arrive".
#pragma once

#include "kernels/cuda/block_scales.hpp"
#include "kernels/cuda/tensor_map.hpp"
#include "kernels/cuda/tma.cuh"
#include "kernels/cuda/wgmma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kCopyingThreads = 64;  // warps 1 and 2; they arrive at a `full` barrier, like TMA's producer

__device__ inline void copy_word(unsigned to, const float* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}
__device__ inline void copy_four_words(unsigned to, const float* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
// Arrives at a barrier, which counts this thread, once its copies so far have landed.
__device__ inline void arrive_when_copied(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
// In order with the waits at barriers, which a stage's reuse needs, but not with other memory.
__device__ inline float read_scale(unsigned at) {
  float one;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(one) : "r"(at));
  return one;
}
__device__ inline float2 read_two_scales(unsigned at) {
  float2 two;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(two.x), "=f"(two.y) : "r"(at));
  return two;
}

// Turns of two warpgroups, whose wgmma would otherwise share the tensor cores and end together: one's run while the
// other adds. begin() comes before a warpgroup's wgmma, end() after they have completed. `more`: another turn of the
// other warpgroup follows.
template <bool kTakesTurns>
struct Turns {
  int consumer;
  __device__ Turns(int of, bool any) : consumer(of) {
    if (kTakesTurns && consumer == 1 && any) arrive(0);
  }
  __device__ void begin() const {
    if constexpr (kTakesTurns) asm volatile("barrier.sync %0, 256;" ::"r"(kFirst + consumer) : "memory");
  }
  __device__ void end(bool more) const {
    if (kTakesTurns && (consumer == 0 || more)) arrive(1 - consumer);
  }

 private:
  static constexpr int kFirst = 4;
  static __device__ void arrive(int at) { asm volatile("barrier.arrive %0, 256;" ::"r"(kFirst + at) : "memory"); }
};

// Copies the scales of kLines lines of an operand, four by each lane of a warp, at once if they are aligned. Lines
// outside repeat the last one; their results are not stored. All but the copies is done once a tile: a warp that
// computed addresses for each stage was slower than the tensor cores.
template <int kLines, bool kSquares>
struct ScaleCopies {
  const float* from;  // the coming stage's scales
  long long step;
  int lane;
  int left;  // lines of the operand behind this lane's first
  bool at_once;

  __device__ ScaleCopies(const float* scales, long long leading, int first, int lines, int block)
      : step(kSquares ? 1 : leading), lane(static_cast<int>(threadIdx.x) % 32) {
    static_assert(kLines <= 128);
    const int line = min(first + (kSquares ? 0 : lane * 4), lines - 1);
    from = scales + (kSquares ? line / 128 * leading + block : block * leading + line);
    left = lines - 1 - line;
    at_once = left >= 3 && leading % 4 == 0 && reinterpret_cast<unsigned long long>(from) % 16 == 0;
  }
  __device__ void copy(unsigned to) {
    if constexpr (kSquares) {
      if (lane == 0) copy_word(to, from);
    } else if (lane < kLines / 4) {
      if (at_once) {
        copy_four_words(to + lane * 16, from);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) copy_word(to + lane * 16 + i * 4, from + min(i, left));
      }
    }
    from += step;
  }
};

// Place of the current stage's scales: behind the ring's barriers.
template <class Tile>
__device__ inline unsigned scales_of_stage(const typename Tile::Stages& ring) {
  return ring.barriers + Tile::Stages::kBarrierBytes + ring.slot * (Tile::kRows + Tile::kColumns) * 4;
}

// Multiplies a thread's sums of 128 products by the scales of the instruction's rows and columns. Holds the scales of
// two rows, and reads the others while it adds. kSquare: all rows or columns have one scale. `rows`, `columns`:
// addresses.
template <int kCount, bool kSquareRows, bool kSquareColumns>
struct SumScales {
  unsigned columns;
  float row[2];

  __device__ SumScales(unsigned rows, unsigned of_columns)
      : columns(of_columns + (kSquareColumns ? 0 : threadIdx.x % 4 * 8)) {
    const unsigned own = rows + (kSquareRows ? 0 : (threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4) * 4);
    const float square = kSquareColumns ? read_scale(columns) : 1.0F;
    row[0] = read_scale(own) * square;
    row[1] = kSquareRows ? row[0] : read_scale(own + 32) * square;
  }
  __device__ void add(float (&acc)[kCount], const float (&sum)[kCount]) const {
#pragma unroll
    for (int first = 0; first < kCount; first += 4) {  // eight columns
      float2 two = make_float2(1, 1);
      if constexpr (!kSquareColumns) two = read_two_scales(columns + first * 8);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float scale = kSquareColumns ? row[i / 2] : row[i / 2] * (i % 2 == 0 ? two.x : two.y);
        acc[first + i] = __fmaf_rn(sum[first + i], scale, acc[first + i]);
      }
    }
  }
};

struct NoScales {
  static constexpr bool kScaled = false;
};

// kSquares: 128 rows of A, or 128 columns of B, share a scale. No border of 128 lines cuts the lines of a warpgroup.
template <bool kSquaresA, bool kSquaresB>
struct BlockScales {
  static constexpr bool kScaled = true;
  static constexpr bool kSquareBlocksA = kSquaresA;
  static constexpr bool kSquareBlocksB = kSquaresB;

  // Copies the scales of `count` stages: warp 1 for A, warp 2 for B.
  template <class Tile>
  static __device__ void produce(typename Tile::Stages& ring, const GpuFp32Blocks& scales, const GpuCall& call, int row,
                                 int column, int first, int count) {
    const auto copy = [&](auto copies, unsigned inside) {
#pragma unroll 1
      for (int stage = 0; stage < count; ++stage) {
        ring.await_empty();
        copies.copy(scales_of_stage<Tile>(ring) + inside);
        arrive_when_copied(ring.full());
        ring.advance();
      }
    };
    if (threadIdx.x / 32 == 1) {
      copy(ScaleCopies<Tile::kRows, kSquaresA>(scales.a, scales.lda, row, call.m, first), 0);
    } else {
      copy(ScaleCopies<Tile::kColumns, kSquaresB>(scales.b, scales.ldb, column, call.n, first), Tile::kRows * 4);
    }
  }

  // The scales of `consumer`'s sums, with rows of A as the instruction's rows; with swapped operands.
  template <class Tile>
  static __device__ auto find(unsigned at, int consumer) {
    const unsigned rows = at + (kSquaresA ? 0 : consumer * 64 * 4);
    return SumScales<Tile::kColumns / 2, kSquaresA, kSquaresB>(rows, at + Tile::kRows * 4);
  }
  template <class Tile>
  static __device__ auto find_swapped(unsigned at, int consumer) {
    const unsigned columns = at + (Tile::kRows + (kSquaresB ? 0 : consumer * 64)) * 4;
    return SumScales<Tile::kRows / 2, kSquaresB, kSquaresA>(columns, at);
  }
};

// Warps of a warpgroup that release a stage after they have read its scales. Its wgmma have ended for all four, but the
// warps read at different times: when one arrived for all, scales were overwritten once in 100,000 launches.
constexpr unsigned kReleasingWarps = 4;

// A tile's main loop: the wgmma of two stages run at once, and the sums of the first are added while the second one's
// run. ptxas waits for all wgmma at a branch around some. start(sum): one stage's wgmma. find(at): the scales.
// release(empty, lane) frees a stage, by each warp.
template <class Tile, int kCount, class Start, class Find, class Release>
__device__ inline void add_stages(typename Tile::Stages& ring, float (&acc)[kCount], int stages, const Start& start,
                                  const Find& find, const Release& release) {
  struct Place {
    unsigned scales, empty;
  };
  const auto begin = [&](float(&sum)[kCount]) {
    ring.await_full();
    fence_operands(sum);
    wgmma_fence();
    start(sum);
    wgmma_commit();
    fence_operands(sum);
    const Place place{scales_of_stage<Tile>(ring), ring.empty()};
    ring.advance();
    return place;
  };
  const auto end = [&](float(&sum)[kCount], const Place& place) {
    fence_operands(sum);
    find(place.scales).add(acc, sum);
    __syncwarp();
    release(place.empty, threadIdx.x % 32);
  };
#pragma unroll 1
  for (int stage = 1; stage < stages; stage += 2) {
    float first[kCount], second[kCount];
    const Place of_first = begin(first);
    const Place of_second = begin(second);
    wgmma_wait<1>();
    end(first, of_first);
    wgmma_wait<0>();
    end(second, of_second);
  }
  if (stages % 2 == 1) {
    float sum[kCount];
    const Place place = begin(sum);
    wgmma_wait<0>();
    end(sum, place);
  }
}

using BlockScalesRowsSquares = BlockScales<false, true>;
using BlockScalesSquaresRows = BlockScales<true, false>;
using BlockScalesRowsRows = BlockScales<false, false>;

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
