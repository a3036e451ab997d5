// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: C by warpgroups. One thread fills a ring of stages by tensor copies, two warpgroups multiply them, each 64
// rows of the tile, and another thread sends C; clusters of two blocks, one below the other, fetch each half of B for
// both; or side by side, each half of A. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/chain.cuh"
#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/pipeline.cuh"
#include "kernels/cuda/scheduler.cuh"
#include "kernels/cuda/tensor_map.hpp"
#include "kernels/cuda/tile_stores.cuh"
#include "kernels/cuda/wgmma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kConsumers = 2;
constexpr int kHopperThreads = 128 * (kConsumers + 1);

template <class OpOf, int kColumnsOf, int kStagesOf, int kClusterOf, int kOwnChunksOf, bool kAcrossOf = false>
struct HopperTile {
  using Op = OpOf;
  static constexpr int kRows = 64 * kConsumers;
  static constexpr int kColumns = kColumnsOf;
  static constexpr int kDepths = kRowBytes / Op::kElement;
  static constexpr int kStages = kStagesOf;
  static constexpr int kCluster = kClusterOf;
  static constexpr bool kAcross = kAcrossOf;  // a cluster's blocks lie side by side and share A
  static constexpr int kRowsOfCluster = kAcross ? kRows : kRows * kCluster;
  static constexpr int kColumnsOfCluster = kAcross ? kColumns * kCluster : kColumns;
  static constexpr int kWarpgroups = kConsumers;
  static constexpr int kBytesA = kRows * kRowBytes;
  static constexpr int kBytesB = kColumns * kRowBytes;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  // Of a warpgroup, each 64 rows and 128 bytes of C on their way: all, those in its own place, what a lent stage holds.
  static constexpr int kChunks = kColumns / kChunkColumns;
  static constexpr int kOwnChunks = kOwnChunksOf;
  static constexpr bool kStores = true;
  static constexpr int kStageChunks = kStageBytes / (kConsumers * kChunkBytes);
  static constexpr bool kLends = kChunks > kOwnChunks;
  static_assert(kChunks - kOwnChunks <= kStageChunks);
  static constexpr int kExitBytes = kConsumers * kOwnChunks * kChunkBytes;
  static_assert(kOwnChunks * kChunkBytes >= 4 * kPieces * kPieceBytes, "the warps' pieces lie there too");
  using Stages = Ring<kStages, kStageBytes>;
  // What the launch must give: the ring begins at a multiple of the swizzle's pattern.
  static constexpr int kSharedBytes =
      kPatternBytes + kStages * kStageBytes + kExitBytes + Stages::kBarrierBytes + Chunks::kBarrierBytes;
  static_assert(kSharedBytes <= 232448, "a block of sm_90 has 227 KiB");
};

// kLines rows (K-major) or columns of an operand from `line` on, and one stage of k, to this block or to all of its
// cluster.
template <class Tile, bool kKMajor, bool kForAll, int kLines>
__device__ inline void fetch_lines(unsigned to, const GpuTensorMap& map, int line, int depth, unsigned full) {
#pragma unroll
  for (int box = 0; box < (kKMajor ? 1 : kLines / 64); ++box) {
    const int x = kKMajor ? depth : line + box * 64;
    const int y = kKMajor ? line : depth;
    if constexpr (kForAll) {
      load_box_for(to + box * kBoxBytes, map, x, y, full, (1U << Tile::kCluster) - 1);
    } else {
      load_box(to + box * kBoxBytes, map, x, y, full);
    }
  }
}

// One stage on its way: this block's own operand, and its share of the one that the cluster shares.
template <class Tile, bool kAKMajor, bool kBKMajor>
__device__ inline void produce(const typename Tile::Stages& ring, const GpuTensorMap& map_a, const GpuTensorMap& map_b,
                               int row, int column, int depth, unsigned rank) {
  const unsigned to = ring.stage();
  const unsigned full = ring.full();
  constexpr bool kShareA = Tile::kCluster > 1 && Tile::kAcross;
  constexpr bool kShareB = Tile::kCluster > 1 && !Tile::kAcross;
  constexpr int kLinesA = Tile::kRows / (kShareA ? Tile::kCluster : 1);
  constexpr int kLinesB = Tile::kColumns / (kShareB ? Tile::kCluster : 1);
  const int first_a = kShareA ? static_cast<int>(rank) * kLinesA : 0;
  const int first_b = kShareB ? static_cast<int>(rank) * kLinesB : 0;
  arrive_expecting(full, Tile::kStageBytes);
  fetch_lines<Tile, kAKMajor, kShareA, kLinesA>(to + first_a * kRowBytes, map_a, row + first_a, depth, full);
  fetch_lines<Tile, kBKMajor, kShareB, kLinesB>(to + Tile::kBytesA + first_b * kRowBytes, map_b, column + first_b,
                                                depth, full);
}

// This block's consumers are done with a stage: every block of the cluster that writes to it must know.
template <class Tile>
__device__ inline void release(unsigned empty) {
  const unsigned thread = threadIdx.x % 128;
  if constexpr (Tile::kCluster > 1) {
    if (thread < Tile::kCluster) arrive_at(empty, thread);
  } else {
    if (thread == 0) arrive(empty);
  }
}

// The products of one tile: a group of them is under way while the one before is waited for and its stage released.
template <class Tile, bool kAKMajor, bool kBKMajor>
__device__ inline void consume(typename Tile::Stages& ring, typename Tile::Op::Sum (&sums)[Tile::kColumns / 2],
                               int consumer, int stages) {
  using Op = typename Tile::Op;
  unsigned before = 0;
#pragma unroll 1
  for (int stage = 0; stage < stages; ++stage) {
    ring.await_full();
    unsigned long long of_a = describe<kAKMajor>(ring.stage() + consumer * kBoxBytes);
    unsigned long long of_b = describe<kBKMajor>(ring.stage() + Tile::kBytesA);
    hold(sums);
    begin_products();
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      Op::template multiply<Tile::kColumns, kAKMajor, kBKMajor>(sums, of_a + step * kDepthStep<kAKMajor>,
                                                                of_b + step * kDepthStep<kBKMajor>);
    }
    end_products();
    hold(sums);
    await_products<1>();
    if (stage > 0) release<Tile>(before);
    before = ring.empty();
    ring.advance();
  }
  await_products<0>();
  hold(sums);
  if (stages > 0) release<Tile>(before);
}

template <class Tile, bool kAKMajor, bool kBKMajor>
__device__ inline void multiply_by_warpgroups(const GpuTileCall& tiles, const GpuTensorMap& map_a,
                                              const GpuTensorMap& map_b, const GpuTensorMap& map_c) {
  extern __shared__ unsigned char shared[];
  const unsigned base = (shared_address(shared) + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  const unsigned exits = base + Tile::kStages * Tile::kStageBytes;
  typename Tile::Stages ring(base, exits + Tile::kExitBytes);
  const Chunks chunks{exits, exits + Tile::kExitBytes + Tile::Stages::kBarrierBytes};
  const unsigned rank = Tile::kCluster > 1 ? cluster_rank() : 0;
  if (threadIdx.x == 0) {
    ring.begin(kConsumers * Tile::kCluster);
    chunks.begin(kConsumers * 4);
    publish_barriers();
    fetch_map(map_a);
    fetch_map(map_b);
    if (tiles.by_map) fetch_map(map_c);
  }
  if (Tile::kCluster > 1) {
    meet_cluster();
  } else {
    __syncthreads();
  }
  let_next_begin();
  await_kernels_ahead();
  // Each side its own, made behind the change of registers: ptxas would spill what is there on both sides of it.
  const auto begin_walk = [&] {
    return TileWalk<Tile::kRowsOfCluster, Tile::kColumnsOfCluster, Tile::kDepths>(
        tiles, static_cast<int>(blockIdx.x) / Tile::kCluster, static_cast<int>(gridDim.x) / Tile::kCluster);
  };
  const int below = Tile::kAcross ? 0 : static_cast<int>(rank) * Tile::kRows;
  const int aside = Tile::kAcross ? static_cast<int>(rank) * Tile::kColumns : 0;
  if (threadIdx.x < 128) {
    give_registers<40>();
    if (threadIdx.x == 0) {
      auto walk = begin_walk();
      while (walk.advance()) {
#pragma unroll 1
        for (int stage = 0; stage < walk.count; ++stage) {
          ring.await_empty();
          produce<Tile, kAKMajor, kBKMajor>(ring, map_a, map_b, walk.row + below, walk.column + aside,
                                            (walk.first_stage + stage) * Tile::kDepths, rank);
          ring.advance();
        }
        if (Tile::kLends && tiles.by_map) ring.lend();
      }
    } else if (threadIdx.x == 32 && tiles.by_map) {
      auto walk = begin_walk();
      send_tiles<Tile>(tiles, map_c, walk, ring, chunks, below, aside);
    }
  } else {
    take_registers<232>();
    const int consumer = static_cast<int>(threadIdx.x) / 128 - 1;
    const int warp = static_cast<int>(threadIdx.x) / 32 - 4;  // 16 rows each
    TileExit exit(tiles, exits + warp * kPieces * kPieceBytes);
    auto walk = begin_walk();
    while (walk.advance()) {
      typename Tile::Op::Sum sums[Tile::kColumns / 2] = {};
      consume<Tile, kAKMajor, kBKMajor>(ring, sums, consumer, walk.count);
      exit.template write<Tile>(sums, walk.row + below + warp * kPieceRows, walk.column + aside, walk.part, ring,
                                chunks);
    }
  }
  // No block leaves while another may still write to its shared memory or arrive at its barriers.
  if (Tile::kCluster > 1) meet_cluster();
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

#define PBPROBE_HOPPER_TILE(name, ...)         \
  namespace pbprobe::PBPROBE_TARGET {          \
  namespace {                                  \
  using Tile_##name = HopperTile<__VA_ARGS__>; \
  }                                            \
  }
#define PBPROBE_HOPPER_KERNEL(name, layout, a_k_major, b_k_major)                                                \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::kHopperThreads, 1)                       \
      name##_##layout(PBPROBE_PARAMETER pbprobe::GpuTileCall tiles, PBPROBE_PARAMETER pbprobe::GpuTensorMap a,   \
                      PBPROBE_PARAMETER pbprobe::GpuTensorMap b, PBPROBE_PARAMETER pbprobe::GpuTensorMap c) {    \
    pbprobe::PBPROBE_TARGET::multiply_by_warpgroups<pbprobe::PBPROBE_TARGET::Tile_##name, a_k_major, b_k_major>( \
        tiles, a, b, c);                                                                                         \
  }
// Along k, as every type can be read.
#define PBPROBE_HOPPER_KMAJOR(name, ...) \
  PBPROBE_HOPPER_TILE(name, __VA_ARGS__) \
  PBPROBE_HOPPER_KERNEL(name, nt, true, true)
// 16-bit operands: each layout as it lies.
#define PBPROBE_HOPPER_LAYOUTS(name, ...)       \
  PBPROBE_HOPPER_KMAJOR(name, __VA_ARGS__)      \
  PBPROBE_HOPPER_KERNEL(name, nn, true, false)  \
  PBPROBE_HOPPER_KERNEL(name, tn, false, false) \
  PBPROBE_HOPPER_KERNEL(name, tt, false, true)
