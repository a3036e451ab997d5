// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: FP32 block scales of FP8 operands, 1 × 128 or 128 × 128, in shared memory behind the stages. One warp copies
// a stage's scales by cp.async, then arrives at the `full` barrier. Consumers multiply their sums of 128 products by
// them. Layout of a stage: scales of the tile's rows, then scales of its columns; 128 lines with one scale store it
// once. Family header: see tile.cuh. Source: PTX ISA, "cp.async", "cp.async.mbarrier.arrive".
#pragma once

#include "kernels/cuda/block_scales.hpp"
#include "kernels/cuda/tensor_map.hpp"
#include "kernels/cuda/tma.cuh"
#include "kernels/cuda/wgmma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kCopyingThreads = 32;  // they arrive at a `full` barrier, like TMA's producer

__device__ inline void copy_word(unsigned to, const float* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
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

// Copies the scales of kLines lines of an operand of `lines`, by a warp. Lines outside repeat the last one; their
// results are not stored.
template <int kLines, bool kSquares>
__device__ inline void copy_scales(unsigned to, const float* scales, long long leading, int first, int lines,
                                   int block) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  constexpr int kCount = kSquares ? (kLines + 127) / 128 : kLines;
#pragma unroll 1  // the producers have 40 registers
  for (int i = 0; i < kCount; i += 32) {
    if (i + lane >= kCount) break;
    const int line = min(first + (i + lane) * (kSquares ? 128 : 1), lines - 1);
    copy_word(to + (i + lane) * 4, scales + (kSquares ? line / 128 * leading + block : block * leading + line));
  }
}

// Place of the current stage's scales: behind the ring's barriers.
template <class Tile>
__device__ inline unsigned scales_of_stage(const typename Tile::Stages& ring) {
  return ring.barriers + Tile::Stages::kBarrierBytes + ring.slot * (Tile::kRows + Tile::kColumns) * 4;
}

// Sums without block scales, with the interface of BlockScales.
struct NoScales {
  static constexpr bool kScaled = false;
  static constexpr bool kReadsLate = false;
  template <class Tile>
  struct Swapped {
    __device__ Swapped(unsigned, int) {}
    template <int kCount>
    __device__ void add(float (&acc)[kCount], const float (&sum)[kCount]) const {
      add_to(acc, sum);
    }
  };
  template <class Tile>
  struct Straight {
    __device__ Straight(unsigned, int) {}
    template <int kCount>
    __device__ void add(float (&acc)[kCount], const float (&sum)[kCount], int) const {
      add_to(acc, sum);
    }
  };
};

// kSquares: 128 rows of A, or 128 columns of B, share a scale. No border of 128 lines cuts the lines of a warpgroup.
template <bool kSquaresA, bool kSquaresB>
struct BlockScales {
  static constexpr bool kScaled = true;
  static constexpr bool kSquareBlocksA = kSquaresA;
  static constexpr bool kSquareBlocksB = kSquaresB;
  static constexpr bool kReadsLate = !kSquaresB;  // Straight reads scales of columns while it adds

  // Copies the scales of `count` stages by one warp.
  template <class Tile>
  static __device__ void produce(typename Tile::Stages& ring, const GpuFp32Blocks& scales, const GpuCall& call, int row,
                                 int column, int first, int count) {
#pragma unroll 1
    for (int stage = 0; stage < count; ++stage) {
      ring.await_empty();
      const unsigned to = scales_of_stage<Tile>(ring);
      copy_scales<Tile::kRows, kSquaresA>(to, scales.a, scales.lda, row, call.m, first + stage);
      copy_scales<Tile::kColumns, kSquaresB>(to + Tile::kRows * 4, scales.b, scales.ldb, column, call.n, first + stage);
      arrive_when_copied(ring.full());
      ring.advance();
    }
  }

  // Scales of a thread's accumulators with swapped operands: rows of A are the instruction's columns. Holds them all,
  // so that the stage is free once its wgmma have read it.
  template <class Tile>
  struct Swapped {
    static constexpr int kHeld = kSquaresA ? 1 : Tile::kRows / 8;
    static_assert(!kSquaresA || 128 % Tile::kRows == 0);
    float2 rows[kHeld];
    float columns[2];

    __device__ Swapped(unsigned at, int consumer) {
      const int lane = static_cast<int>(threadIdx.x) % 32;
      const unsigned of_columns = at + Tile::kRows * 4;
      if constexpr (kSquaresB) {
        columns[0] = columns[1] = read_scale(of_columns);
      } else {
        const int column = consumer * 64 + static_cast<int>(threadIdx.x) % 128 / 32 * 16 + lane / 4;
        columns[0] = read_scale(of_columns + column * 4);
        columns[1] = read_scale(of_columns + (column + 8) * 4);
      }
      if constexpr (kSquaresA) {
        const float of_rows = read_scale(at);
        columns[0] *= of_rows;
        columns[1] *= of_rows;
      } else {
#pragma unroll
        for (int i = 0; i < kHeld; ++i) {
          rows[i] = read_two_scales(at + (i * 8 + lane % 4 * 2) * 4);
          if constexpr (kSquaresB) rows[i] = make_float2(rows[i].x * columns[0], rows[i].y * columns[0]);
        }
      }
    }
    __device__ void add(float (&acc)[Tile::kRows / 2], const float (&sum)[Tile::kRows / 2]) const {
#pragma unroll
      for (int i = 0; i < Tile::kRows / 2; ++i) {
        float scale = columns[i % 4 / 2];
        if constexpr (!kSquaresA) {
          const float of_row = i % 2 == 0 ? rows[i / 4].x : rows[i / 4].y;
          scale = kSquaresB ? of_row : of_row * scale;
        }
        acc[i] = __fmaf_rn(sum[i], scale, acc[i]);
      }
    }
  };

  // Scales of the accumulators of one or more parts of 64 rows (Fp8Tile).
  template <class Tile>
  struct Straight {
    unsigned of_columns;
    float rows[Tile::kParts][2];
    float square = 1;

    __device__ Straight(unsigned at, int consumer) {
      const int thread = static_cast<int>(threadIdx.x) % 128;
      of_columns = at + Tile::kRows * 4 + (kSquaresB ? 0 : thread % 4 * 8);
      if constexpr (kSquaresB) square = read_scale(of_columns);
      if constexpr (kSquaresA) square *= read_scale(at + consumer * Tile::kParts * 64 / 128 * 4);
#pragma unroll
      for (int part = 0; part < Tile::kParts; ++part) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int row = (consumer * Tile::kParts + part) * 64 + thread / 32 * 16 + half * 8 + thread % 32 / 4;
          rows[part][half] = kSquaresA ? square : read_scale(at + row * 4) * square;
        }
      }
    }
    __device__ void add(float (&acc)[Tile::kColumns / 2], const float (&sum)[Tile::kColumns / 2], int part) const {
#pragma unroll
      for (int eight = 0; eight < Tile::kColumns / 8; ++eight) {
        float2 two = make_float2(1, 1);
        if constexpr (!kSquaresB) two = read_two_scales(of_columns + eight * 32);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float of_column = i % 2 == 0 ? two.x : two.y;
          const float scale = kSquaresB ? rows[part][i / 2] : rows[part][i / 2] * of_column;
          float& to = acc[eight * 4 + i];
          to = __fmaf_rn(sum[eight * 4 + i], scale, to);
        }
      }
    }
  };
};
using BlockScalesRowsSquares = BlockScales<false, true>;
using BlockScalesSquaresRows = BlockScales<true, false>;
using BlockScalesRowsRows = BlockScales<false, false>;

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
