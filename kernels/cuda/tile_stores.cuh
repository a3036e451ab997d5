// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: TMA stores of C's tiles of 2-byte elements, while the next tile is computed. Consumers stage a tile in
// chunks: some in buffers of their own, the others in a stage of the ring, reused. One thread stores the chunks, and
// releases that stage when they have been read. Family header: see tile.cuh. Source: PTX ISA, "cp.async.bulk.tensor".
#pragma once

#include "kernels/cuda/pipeline.cuh"
#include "kernels/cuda/tensor_map.hpp"
#include "kernels/cuda/wgmma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// A chunk is what one store takes: 64 rows of a warpgroup, of 128 bytes, with the swizzle of the copies.
constexpr int kChunkBytes = kBoxBytes;
constexpr int kChunkColumns = 64;  // columns of 2 bytes

// Chunks of C in shared memory. A unit is staged and stored together: first the own chunks, then the chunks of the
// reused stage.
struct Chunks {
  static constexpr int kBarrierBytes = 8 * 3;
  unsigned at;        // the own ones
  unsigned barriers;  // "the own ones were stored", then a "staged" for each unit
  __device__ unsigned sent() const { return barriers; }
  __device__ unsigned laid(int unit) const { return barriers + 8 + unit * 8; }
  // Initializes the barriers. Call by one thread, like Ring::begin().
  __device__ void begin(unsigned warps) const {
    init_barrier(sent(), 1);
    init_barrier(laid(0), warps);
    init_barrier(laid(1), warps);
  }
};

// A unit's chunks of one tile, whose first row and column are given.
template <class Tile, int kUnit>
__device__ inline void store_unit(const GpuTileCall& tiles, const GpuTensorMap& map_c, unsigned from, int row,
                                  int column) {
  constexpr int kPlace = kUnit == 0 ? Tile::kOwnChunks : Tile::kStageChunks;
  constexpr int kFirst = kUnit == 0 ? 0 : Tile::kOwnChunks;
  constexpr int kOwn = Tile::kOwnChunks < Tile::kChunks ? Tile::kOwnChunks : Tile::kChunks;
  constexpr int kCount = kUnit == 0 ? kOwn : Tile::kChunks - kOwn;
#pragma unroll 1
  for (int chunk = 0; chunk < Tile::kWarpgroups * kCount; ++chunk) {
    const int group = chunk / kCount;
    const int inside = chunk % kCount;
    const int x = column + (kFirst + inside) * kChunkColumns;
    const int y = row + group * 64;
    if (x >= tiles.call.n || y >= tiles.call.m) continue;
    store_box(map_c, x, y, from + (group * kPlace + inside) * kChunkBytes);
  }
  commit_stores();
}

// Releases the reused stage on behalf of this block's consumers, to every block of the cluster that writes to it.
template <class Tile>
__device__ inline void release_reused_stage(typename Tile::Stages& ring) {
#pragma unroll
  for (int i = 0; i < Tile::kWarpgroups * Tile::kCluster; ++i) {
    if constexpr (Tile::kCluster > 1) {
      arrive_at(ring.empty(), i / Tile::kWarpgroups);
    } else {
      arrive(ring.empty());
    }
  }
  ring.skip(1);
}

// Stores all tiles of the scheduler, by one thread.
template <class Tile, class Scheduler>
__device__ inline void store_tiles(const GpuTileCall& tiles, const GpuTensorMap& map_c, Scheduler& scheduler,
                                   typename Tile::Stages& ring, const Chunks& chunks) {
  unsigned phase = 0;
  while (scheduler.advance()) {
    ring.skip(scheduler.count);
    await_phase(chunks.laid(0), phase);
    store_unit<Tile, 0>(tiles, map_c, chunks.at, scheduler.row, scheduler.column);
    if constexpr (Tile::kReusesStage) {
      await_phase(chunks.laid(1), phase);
      store_unit<Tile, 1>(tiles, map_c, ring.stage(), scheduler.row, scheduler.column);
      await_stores<1>();
    } else {
      await_stores<0>();
    }
    arrive(chunks.sent());
    if constexpr (Tile::kReusesStage) {
      await_stores<0>();
      release_reused_stage<Tile>(ring);
    }
    phase ^= 1;
  }
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
