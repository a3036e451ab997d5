// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// TMA-fed mma.sync, for SMs since 9.0 that have neither wgmma nor tcgen05. It uses no feature of an `a` target: bulk
// tensor copies to a block's own shared memory, mbarriers, no clusters and no setmaxnreg. One thread fills a ring of
// stages; four warps compute 64 × 64 of the tile each, without a barrier of the block in the main loop.
//   BF16, FP16   m16n8k16, all four layouts: ldmatrix transposes operands that are not contiguous along k
//   INT8, TF32   m16n8k32, m16n8k8: along k only; TMA rounds to TF32
// A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N]. Family header: see tile.cuh. Source: PTX ISA, mma, ldmatrix.
//
// Shared memory at exit: only this block accesses it, and every copy has landed, because the warps waited for each
// `full` phase. Reuse of buffers: stages wait for `empty`; a warp's staging buffers for __syncwarp().
#pragma once

#include "kernels/cuda/hopper.cuh"
#include "kernels/cuda/mma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// Members have the names that hopper.cuh, whose producer fills the ring, and mma.cuh require.
template <class OpOf, int kRowsOf, int kColumnsOf, int kStagesOf>
struct TmaMmaTile {
  using Op = OpOf;
  static constexpr int kRows = kRowsOf;
  static constexpr int kColumns = kColumnsOf;
  static constexpr int kWarpM = 64;
  static constexpr int kWarpN = 64;
  static constexpr int kTileK = kRowBytes / Op::kElement;
  static constexpr int kStages = kStagesOf;
  static constexpr int kCluster = 1;
  static constexpr bool kAcross = false;
  static constexpr bool kStores = false;  // the warps write C themselves
  static constexpr int kWarps = kRows / kWarpM * (kColumns / kWarpN);
  static_assert(kWarps == 4, "one for each quarter of the SM, with all registers that a thread can have");
  static constexpr int kThreads = kWarps * 32 + 32;
  static constexpr int kBlocks = 1;  // blocks per SM
  static constexpr int kBytesA = kRows * kRowBytes;
  static constexpr int kBytesB = kColumns * kRowBytes;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  using Stages = Ring<kStages, kStageBytes>;
  static constexpr int kEpilogueBytes = kWarps * kPieces * kPieceBytes;
  static constexpr int kSharedBytes = tma_shared_bytes(kRows + kColumns, kStages, kEpilogueBytes);
  static_assert(kSharedBytes <= 101376, "a block of sm_120 has 99 KiB");
};

// Addresses of a warp's matrices of one operand in a stage that TMA filled: lines of 128 bytes of k; or boxes of 64
// lines, in which the lines of one k are contiguous.
template <bool kKMajor>
struct BoxedFragments {
  unsigned lane_address;  // this lane's row in the first block and step, permuted

  // Arguments as in Fragments (mma.cuh). Requires that a warp's lines begin at a multiple of 64.
  __device__ BoxedFragments(int first_line, bool lines_first, int offset) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int inner = lane % 8;
    const int second = lane / 8 % 2;
    const int third = lane / 16;
    const int line_half = lines_first ? second : third;
    const int k_half = lines_first ? third : second;
    const int row = inner + (kKMajor ? line_half : k_half) * 8;
    const int chunk = (kKMajor ? k_half : line_half) ^ (row & 7);
    lane_address = static_cast<unsigned>(offset + first_line * kRowBytes + row * kRowBytes + (chunk << 4));
  }
  // Returns this lane's address in block `block` of 16 lines and step `step` of 32 bytes along k.
  __device__ unsigned at(unsigned stage, int block, int step) const {
    const int down = kKMajor ? block : step;
    const int along = kKMajor ? step : block;
    return stage + down * 16 * kRowBytes + (lane_address ^ static_cast<unsigned>(along << 5));
  }
};

// A warp's fragments, one step of 32 bytes of k ahead of the tensor cores. Each fragment of A is replaced when its row
// of MMAs has been issued, because two sets would spill.
template <class Tile, bool kAKMajor, bool kBKMajor>
struct TmaMmaWarp {
  static constexpr int kBlocksA = Tile::kWarpM / 16;
  static constexpr int kBlocksB = Tile::kWarpN / 16;
  static constexpr int kSteps = kRowBytes / 32;
  static_assert(kSteps % 2 == 0, "fragments of B alternate between two sets of registers");
  BoxedFragments<kAKMajor> fragments_a;
  BoxedFragments<kBKMajor> fragments_b;
  unsigned held_a[kBlocksA][4];
  unsigned held_b[2][kBlocksB][4];

  // Computes addresses of this lane; loads nothing. `row`, `column`: first of the warp in the tile, in elements.
  __device__ TmaMmaWarp(int row, int column) : fragments_a(row, true, 0), fragments_b(column, false, Tile::kBytesA) {}

  __device__ void load_a(unsigned stage, int step, int block) {
    load_matrices<!kAKMajor>(held_a[block], fragments_a.at(stage, block, step));
  }
  __device__ void load_b(unsigned stage, int step) {
#pragma unroll
    for (int j = 0; j < kBlocksB; ++j) load_matrices<!kBKMajor>(held_b[step % 2][j], fragments_b.at(stage, j, step));
  }
  // The first fragments of a tile.
  __device__ void begin(unsigned stage) {
#pragma unroll
    for (int i = 0; i < kBlocksA; ++i) load_a(stage, 0, i);
    load_b(stage, 0);
  }
  // Boustrophedon: neighbours share the fragment of B.
  __device__ void multiply_row(WarpAccumulators<Tile>& acc, int i, const unsigned (&b)[kBlocksB][4]) const {
#pragma unroll
    for (int j = 0; j < 2 * kBlocksB; ++j) {
      const int column = i % 2 == 0 ? j : 2 * kBlocksB - 1 - j;
      Tile::Op::mma(acc.values[i][column], held_a[i], b[column / 2][column % 2 * 2], b[column / 2][column % 2 * 2 + 1]);
    }
  }
  // Computes the ring's stage and advances; with `more` the next stage is of the same tile, and its first fragments are
  // loaded too.
  template <class More>
  __device__ void compute_stage(WarpAccumulators<Tile>& acc, typename Tile::Stages& ring, More more) {
    unsigned from = ring.stage();
    const unsigned empty = ring.empty();
    ring.advance();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const bool last = step + 1 == kSteps;
      const int next = (step + 1) % kSteps;
      if (last && more) {
        ring.await_full();
        from = ring.stage();
      }
      if (!last || more) load_b(from, next);
#pragma unroll
      for (int i = 0; i < kBlocksA; ++i) {
        multiply_row(acc, i, held_b[step % 2]);
        if (!last || more) load_a(from, next, i);
      }
    }
    __syncwarp();  // one lane arrives for the warp
    if (threadIdx.x % 32 == 0) arrive(empty);
  }
};

template <class Tile, bool kAKMajor, bool kBKMajor>
__device__ inline void tma_mma_gemm(const GpuTileCall& tiles, const GpuTensorMap& map_a, const GpuTensorMap& map_b,
                                    const GpuTensorMap&) {
  extern __shared__ unsigned char shared[];
  const unsigned base = (shared_address(shared) + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  const unsigned staging = base + Tile::kStages * Tile::kStageBytes;
  typename Tile::Stages ring(base, staging + Tile::kEpilogueBytes);
  if (threadIdx.x == 0) {
    ring.begin(Tile::kWarps);
    fence_barrier_init();
    prefetch_map(map_a);
    prefetch_map(map_b);
  }
  __syncthreads();
  launch_dependents();
  wait_on_dependencies();
  using Scheduler = TileScheduler<Tile, kAKMajor>;
  if (threadIdx.x >= Tile::kWarps * 32) {
    if (threadIdx.x == Tile::kWarps * 32) {
      Scheduler scheduler(tiles);
      while (scheduler.advance()) {
#pragma unroll 1
        for (int stage = 0; stage < scheduler.count; ++stage) {
          ring.await_empty();
          produce<Tile, kAKMajor, kBKMajor>(ring, map_a, map_b, scheduler.row, scheduler.column,
                                            (scheduler.first_stage + stage) * Tile::kTileK, 0);
          ring.advance();
        }
      }
    }
  } else {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    constexpr int kWarpsDown = Tile::kRows / Tile::kWarpM;
    const int my_row = warp % kWarpsDown * Tile::kWarpM;
    const int my_column = warp / kWarpsDown * Tile::kWarpN;
    TmaMmaWarp<Tile, kAKMajor, kBKMajor> mma(my_row, my_column);
    Epilogue epilogue(tiles, staging + warp * kPieces * kPieceBytes);
    Scheduler scheduler(tiles);
    while (scheduler.advance()) {
      WarpAccumulators<Tile> acc;
      acc.clear();
      if (scheduler.count > 0) {
        ring.await_full();
        mma.begin(ring.stage());
#pragma unroll 1
        for (int stage = 1; stage < scheduler.count; ++stage) mma.compute_stage(acc, ring, true_type());
        mma.compute_stage(acc, ring, false_type());
      }
#pragma unroll
      for (int i = 0; i < Tile::kWarpM / 16; ++i) {
        const auto& rows = reinterpret_cast<const typename Tile::Op::Accumulator(&)[Tile::kWarpN / 2]>(acc.values[i]);
        epilogue.template write<Tile>(rows, scheduler.row + my_row + i * kPieceRows, scheduler.column + my_column,
                                      scheduler.part, ring, Chunks());
      }
    }
  }
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

// Type, rows and columns of a tile, stages.
#define PBPROBE_TMA_MMA_KERNELS                                                      \
  PBPROBE_TMA_LAYOUTS(tma_bf16_128x128, tma_mma_gemm, TmaMmaTile<Bf16, 128, 128, 2>) \
  PBPROBE_TMA_LAYOUTS(tma_fp16_128x128, tma_mma_gemm, TmaMmaTile<Fp16, 128, 128, 2>) \
  PBPROBE_TMA_KMAJOR(tma_int8_128x128, tma_mma_gemm, TmaMmaTile<Int8, 128, 128, 2>)  \
  PBPROBE_TMA_KMAJOR(tma_tf32_128x128, tma_mma_gemm, TmaMmaTile<Tf32, 128, 128, 2>)
