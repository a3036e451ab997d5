// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: warp-specialized wgmma, cooperative: one thread fills a ring of stages by TMA, two warpgroups compute 64 rows
// of the tile each, and another thread stores C. Clusters of two blocks multicast: one below the other they share B,
// side by side A. Family header: see tile.cuh.
//
// Shared memory at exit: the other block of the cluster writes this block's stages by multicast and arrives at its
// `empty` barriers. Every multicast has landed, because the consumers waited for each `full` phase. The arrivals are
// ordered by cluster_sync(), the last instruction.
// Reuse of buffers: a stage waits for its `empty` barrier (Ring::await_empty), a reused stage for store_tiles()'s
// await_stores<0>() before release_reused_stage(), and the own chunks for Chunks::sent().
#pragma once

#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/pdl.cuh"
#include "kernels/cuda/pipeline.cuh"
#include "kernels/cuda/scheduler.cuh"
#include "kernels/cuda/tensor_map.hpp"
#include "kernels/cuda/tile_sizes.hpp"
#include "kernels/cuda/tile_stores.cuh"
#include "kernels/cuda/wgmma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kConsumers = 2;

template <class OpOf, int kColumnsOf, int kStagesOf, int kClusterOf, int kOwnChunksOf, bool kAcrossOf = false>
struct WgmmaTile {
  using Op = OpOf;
  static constexpr int kRows = 64 * kConsumers;
  static constexpr int kColumns = kColumnsOf;
  static constexpr int kTileK = kRowBytes / Op::kElement;
  static constexpr int kStages = kStagesOf;
  static constexpr int kCluster = kClusterOf;
  static constexpr bool kAcross = kAcrossOf;  // the blocks of a cluster are side by side and share A
  static constexpr int kWarpgroups = kConsumers;
  static constexpr int kThreads = 128 * (kConsumers + 1);
  static constexpr int kBlocks = 1;  // blocks per SM
  static constexpr int kBytesA = kRows * kRowBytes;
  static constexpr int kBytesB = kColumns * kRowBytes;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  // Chunks of C of a warpgroup, 64 rows by 128 bytes: all; chunks with own buffers; chunks that a reused stage holds.
  static constexpr int kChunks = kColumns / kChunkColumns;
  static constexpr int kOwnChunks = kOwnChunksOf;
  static constexpr bool kStores = true;
  static constexpr int kStageChunks = kStageBytes / (kConsumers * kChunkBytes);
  static constexpr bool kReusesStage = kChunks > kOwnChunks;
  static_assert(kChunks - kOwnChunks <= kStageChunks);
  static constexpr int kEpilogueBytes = kConsumers * kOwnChunks * kChunkBytes;
  static_assert(kOwnChunks * kChunkBytes >= 4 * kPieces * kPieceBytes, "the warps' pieces lie there too");
  using Stages = Ring<kStages, kStageBytes>;
  static constexpr int kSharedBytes =
      tma_shared_bytes(kRows + kColumns, kStages, kEpilogueBytes, Chunks::kBarrierBytes / 8);
  static_assert(kSharedBytes <= 232448, "a block of sm_90 has 227 KiB");
};

// One stage of k of kLines rows (K-major) or columns of an operand, to this block or to its whole cluster.
template <class Tile, bool kKMajor, bool kForAll, int kLines>
__device__ inline void fetch_lines(unsigned to, const GpuTensorMap& map, int line, int k, unsigned full) {
#pragma unroll
  for (int box = 0; box < (kKMajor ? 1 : kLines / 64); ++box) {
    const int x = kKMajor ? k : line + box * 64;
    const int y = kKMajor ? line : k;
    if constexpr (kForAll) {
      load_box_for(to + box * kBoxBytes, map, x, y, full, (1U << Tile::kCluster) - 1);
    } else {
      load_box(to + box * kBoxBytes, map, x, y, full);
    }
  }
}

// Fetches one stage: this block's own operand, and its share of the one that the cluster shares.
template <class Tile, bool kAKMajor, bool kBKMajor>
__device__ inline void produce(const typename Tile::Stages& ring, const GpuTensorMap& map_a, const GpuTensorMap& map_b,
                               int row, int column, int k, unsigned rank) {
  const unsigned to = ring.stage();
  const unsigned full = ring.full();
  constexpr bool kShareA = Tile::kCluster > 1 && Tile::kAcross;
  constexpr bool kShareB = Tile::kCluster > 1 && !Tile::kAcross;
  constexpr int kLinesA = Tile::kRows / (kShareA ? Tile::kCluster : 1);
  constexpr int kLinesB = Tile::kColumns / (kShareB ? Tile::kCluster : 1);
  const int first_a = kShareA ? static_cast<int>(rank) * kLinesA : 0;
  const int first_b = kShareB ? static_cast<int>(rank) * kLinesB : 0;
  arrive_expect_tx(full, Tile::kStageBytes);
  fetch_lines<Tile, kAKMajor, kShareA, kLinesA>(to + first_a * kRowBytes, map_a, row + first_a, k, full);
  fetch_lines<Tile, kBKMajor, kShareB, kLinesB>(to + Tile::kBytesA + first_b * kRowBytes, map_b, column + first_b, k,
                                                full);
}

// Releases a stage to every block of the cluster that writes to it.
template <class Tile>
__device__ inline void release(unsigned empty) {
  const unsigned thread = threadIdx.x % 128;
  if constexpr (Tile::kCluster > 1) {
    if (thread < Tile::kCluster) arrive_at(empty, thread);
  } else {
    if (thread == 0) arrive(empty);
  }
}

// Main loop of one tile: one group of wgmma is in flight while the previous group completes and its stage is released.
template <class Tile, bool kAKMajor, bool kBKMajor>
__device__ inline void consume(typename Tile::Stages& ring, typename Tile::Op::Accumulator (&acc)[Tile::kColumns / 2],
                               int consumer, int stages) {
  using Op = typename Tile::Op;
  unsigned before = 0;
#pragma unroll 1
  for (int stage = 0; stage < stages; ++stage) {
    ring.await_full();
    unsigned long long of_a = describe<kAKMajor>(ring.stage() + consumer * kBoxBytes);
    unsigned long long of_b = describe<kBKMajor>(ring.stage() + Tile::kBytesA);
    fence_operands(acc);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      Op::template wgmma<Tile::kColumns, kAKMajor, kBKMajor>(acc, of_a + step * kStepK<kAKMajor>,
                                                             of_b + step * kStepK<kBKMajor>);
    }
    wgmma_commit();
    fence_operands(acc);
    wgmma_wait<1>();
    if (stage > 0) release<Tile>(before);
    before = ring.empty();
    ring.advance();
  }
  wgmma_wait<0>();
  fence_operands(acc);
  if (stages > 0) release<Tile>(before);
}

template <class Tile, bool kAKMajor, bool kBKMajor>
__device__ inline void wgmma_gemm(const GpuTileCall& tiles, const GpuTensorMap& map_a, const GpuTensorMap& map_b,
                                  const GpuTensorMap& map_c) {
  extern __shared__ unsigned char shared[];
  const unsigned base = (shared_address(shared) + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  const unsigned staging = base + Tile::kStages * Tile::kStageBytes;
  typename Tile::Stages ring(base, staging + Tile::kEpilogueBytes);
  const Chunks chunks{staging, staging + Tile::kEpilogueBytes + Tile::Stages::kBarrierBytes};
  const unsigned rank = Tile::kCluster > 1 ? cluster_rank() : 0;
  if (threadIdx.x == 0) {
    ring.begin(kConsumers * Tile::kCluster);
    chunks.begin(kConsumers * 4);
    fence_barrier_init();
    prefetch_map(map_a);
    prefetch_map(map_b);
    if (tiles.by_map) prefetch_map(map_c);
  }
  if (Tile::kCluster > 1) {
    cluster_sync_after_init();
  } else {
    __syncthreads();
  }
  launch_dependents();
  wait_on_dependencies();
  // One for each role, made after setmaxnreg: ptxas spills what lives across it.
  const auto make_scheduler = [&] { return TileScheduler<Tile, kAKMajor>(tiles); };
  if (threadIdx.x < 128) {
    setmaxnreg_dec<40>();
    if (threadIdx.x == 0) {
      auto scheduler = make_scheduler();
      while (scheduler.advance()) {
#pragma unroll 1
        for (int stage = 0; stage < scheduler.count; ++stage) {
          ring.await_empty();
          produce<Tile, kAKMajor, kBKMajor>(ring, map_a, map_b, scheduler.row, scheduler.column,
                                            (scheduler.first_stage + stage) * Tile::kTileK, rank);
          ring.advance();
        }
        if (Tile::kReusesStage && tiles.by_map) ring.hand_over();
      }
    } else if (threadIdx.x == 32 && tiles.by_map) {
      auto scheduler = make_scheduler();
      store_tiles<Tile>(tiles, map_c, scheduler, ring, chunks);
    }
  } else {
    setmaxnreg_inc<232>();
    const int consumer = static_cast<int>(threadIdx.x) / 128 - 1;
    const int warp = static_cast<int>(threadIdx.x) / 32 - 4;  // 16 rows each
    Epilogue epilogue(tiles, staging + warp * kPieces * kPieceBytes);
    auto scheduler = make_scheduler();
    while (scheduler.advance()) {
      typename Tile::Op::Accumulator acc[Tile::kColumns / 2] = {};
      consume<Tile, kAKMajor, kBKMajor>(ring, acc, consumer, scheduler.count);
      epilogue.template write<Tile>(acc, scheduler.row + warp * kPieceRows, scheduler.column, scheduler.part, ring,
                                    chunks);
    }
  }
  // Orders this block's arrivals at the other blocks' barriers before any block exits.
  if (Tile::kCluster > 1) cluster_sync();
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

// Kernels of every family that reads its operands by TMA. PBPROBE_TMA_KMAJOR(name, function, tile) takes operands along
// k, which every type supports; _LAYOUTS takes each layout without a copy, for 16-bit operands. The function template
// takes the tile, whether A and B are contiguous along k, and further arguments of the kernel. `more`: threads besides
// the tile's threads.
#define PBPROBE_TMA_TILE(name, ...)   \
  namespace pbprobe::PBPROBE_TARGET { \
  namespace {                         \
  using Tile_##name = __VA_ARGS__;    \
  }                                   \
  }
#define PBPROBE_TMA_KERNEL(name, layout, more, function, ...)                                                  \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::Tile_##name::kThreads + more,          \
                                               pbprobe::PBPROBE_TARGET::Tile_##name::kBlocks)                  \
      name##_##layout(PBPROBE_PARAMETER pbprobe::GpuTileCall tiles, PBPROBE_PARAMETER pbprobe::GpuTensorMap a, \
                      PBPROBE_PARAMETER pbprobe::GpuTensorMap b, PBPROBE_PARAMETER pbprobe::GpuTensorMap c) {  \
    pbprobe::PBPROBE_TARGET::function<pbprobe::PBPROBE_TARGET::Tile_##name, __VA_ARGS__>(tiles, a, b, c);      \
  }
#define PBPROBE_TMA_KMAJOR(name, function, ...) \
  PBPROBE_TMA_TILE(name, __VA_ARGS__)           \
  PBPROBE_TMA_KERNEL(name, nt, 0, function, true, true)
#define PBPROBE_TMA_LAYOUTS(name, function, ...)          \
  PBPROBE_TMA_KMAJOR(name, function, __VA_ARGS__)         \
  PBPROBE_TMA_KERNEL(name, nn, 0, function, true, false)  \
  PBPROBE_TMA_KERNEL(name, tn, 0, function, false, false) \
  PBPROBE_TMA_KERNEL(name, tt, 0, function, false, true)
