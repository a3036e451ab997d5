// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: C by warpgroups. One warp fills a ring of stages by tensor copies, two warpgroups multiply them, each 64 rows
// of the tile; clusters of two blocks, one below the other, fetch each half of B for both. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/chain.cuh"
#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/pipeline.cuh"
#include "kernels/cuda/scheduler.cuh"
#include "kernels/cuda/tensor_map.hpp"
#include "kernels/cuda/wgmma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kConsumers = 2;
constexpr int kHopperThreads = 128 * (kConsumers + 1);

template <class OpOf, int kColumnsOf, int kStagesOf, int kClusterOf>
struct HopperTile {
  using Op = OpOf;
  static constexpr int kRows = 64 * kConsumers;
  static constexpr int kColumns = kColumnsOf;
  static constexpr int kDepths = kRowBytes / Op::kElement;
  static constexpr int kStages = kStagesOf;
  static constexpr int kCluster = kClusterOf;
  static constexpr int kBytesA = kRows * kRowBytes;
  static constexpr int kBytesB = kColumns * kRowBytes;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static constexpr int kExitBytes = kConsumers * 4 * kPieces * kPieceBytes;
  using Stages = Ring<kStages, kStageBytes>;
  // What the launch must give: the ring begins at a multiple of the swizzle's pattern.
  static constexpr int kSharedBytes = kPatternBytes + kStages * kStageBytes + kExitBytes + Stages::kBarrierBytes;
  static_assert(kSharedBytes <= 232448, "a block of sm_90 has 227 KiB");
};

// One stage on its way: all of A's rows, and of B this block's share for the whole cluster.
template <class Tile, bool kAKMajor, bool kBKMajor>
__device__ inline void produce(const typename Tile::Stages& ring, const GpuTensorMap& map_a, const GpuTensorMap& map_b,
                               int row, int column, int depth, unsigned rank) {
  const unsigned to = ring.stage();
  const unsigned full = ring.full();
  arrive_expecting(full, Tile::kStageBytes);
  if constexpr (kAKMajor) {
    load_box(to, map_a, depth, row, full);
  } else {
#pragma unroll
    for (int box = 0; box < Tile::kRows / 64; ++box) {
      load_box(to + box * kBoxBytes, map_a, row + box * 64, depth, full);
    }
  }
  constexpr int kShare = Tile::kColumns / Tile::kCluster;
  const int mine = static_cast<int>(rank) * kShare;
  const unsigned to_b = to + Tile::kBytesA + mine * kRowBytes;
  constexpr int kBoxes = kBKMajor ? 1 : kShare / 64;
#pragma unroll
  for (int box = 0; box < kBoxes; ++box) {
    const int x = kBKMajor ? depth : column + mine + box * 64;
    const int y = kBKMajor ? column + mine : depth;
    if constexpr (Tile::kCluster > 1) {
      load_box_for(to_b + box * kBoxBytes, map_b, x, y, full, (1U << Tile::kCluster) - 1);
    } else {
      load_box(to_b + box * kBoxBytes, map_b, x, y, full);
    }
  }
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
                                              const GpuTensorMap& map_b) {
  extern __shared__ unsigned char shared[];
  const unsigned base = (shared_address(shared) + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  const unsigned exits = base + Tile::kStages * Tile::kStageBytes;
  typename Tile::Stages ring(base, exits + Tile::kExitBytes);
  const unsigned rank = Tile::kCluster > 1 ? cluster_rank() : 0;
  if (threadIdx.x == 0) {
    ring.begin(kConsumers * Tile::kCluster);
    publish_barriers();
    fetch_map(map_a);
    fetch_map(map_b);
  }
  if (Tile::kCluster > 1) {
    meet_cluster();
  } else {
    __syncthreads();
  }
  let_next_begin();
  await_kernels_ahead();
  TileWalk<Tile::kRows * Tile::kCluster, Tile::kColumns, Tile::kDepths> walk(
      tiles, static_cast<int>(blockIdx.x) / Tile::kCluster, static_cast<int>(gridDim.x) / Tile::kCluster);
  const int below = static_cast<int>(rank) * Tile::kRows;
  if (threadIdx.x < 128) {
    give_registers<40>();
    if (threadIdx.x == 0) {
      while (walk.advance()) {
#pragma unroll 1
        for (int stage = 0; stage < walk.count; ++stage) {
          ring.await_empty();
          produce<Tile, kAKMajor, kBKMajor>(ring, map_a, map_b, walk.row + below, walk.column,
                                            (walk.first_stage + stage) * Tile::kDepths, rank);
          ring.advance();
        }
      }
    }
  } else {
    take_registers<232>();
    const int consumer = static_cast<int>(threadIdx.x) / 128 - 1;
    const int warp = static_cast<int>(threadIdx.x) / 32 - 4;  // 16 rows each
    TileExit exit(tiles, exits + warp * kPieces * kPieceBytes);
    while (walk.advance()) {
      typename Tile::Op::Sum sums[Tile::kColumns / 2] = {};
      consume<Tile, kAKMajor, kBKMajor>(ring, sums, consumer, walk.count);
      exit.write(sums, walk.row + below + warp * kPieceRows, walk.column, walk.part);
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
#define PBPROBE_HOPPER_KERNEL(name, layout, a_k_major, b_k_major)                                                      \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::kHopperThreads, 1)                             \
      name##_##layout(PBPROBE_PARAMETER pbprobe::GpuTileCall tiles, PBPROBE_PARAMETER pbprobe::GpuTensorMap a,         \
                      PBPROBE_PARAMETER pbprobe::GpuTensorMap b) {                                                     \
    pbprobe::PBPROBE_TARGET::multiply_by_warpgroups<pbprobe::PBPROBE_TARGET::Tile_##name, a_k_major, b_k_major>(tiles, \
                                                                                                                a, b); \
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
