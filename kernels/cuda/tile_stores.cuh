// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sm_90a: C's tiles of 2-byte elements on their way by tensor stores, while the next tile is computed. The consumers
// lay a tile out in chunks: a few in a place of their own, the others in a stage that the producer lends them. One
// thread sends the chunks, and gives the stage back when they have been read. Family header: see tile.cuh. Source: PTX
// ISA, "cp.async.bulk.tensor".
#pragma once

#include "kernels/cuda/pipeline.cuh"
#include "kernels/cuda/tensor_map.hpp"
#include "kernels/cuda/wgmma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// A chunk is what one store takes: 64 rows of a warpgroup, of 128 bytes, with the swizzle of the copies.
constexpr int kChunkBytes = kBoxBytes;
constexpr int kChunkColumns = 64;  // of 2 bytes

// What is laid out and sent together is a unit: the own chunks, then those of the lent stage.
struct Chunks {
  static constexpr int kBarrierBytes = 8 * 3;
  unsigned at;        // the own ones
  unsigned barriers;  // one says that the own ones were sent, two that a unit is laid out
  __device__ unsigned sent() const { return barriers; }
  __device__ unsigned laid(int unit) const { return barriers + 8 + unit * 8; }
  // By one thread, as Ring::begin().
  __device__ void begin(unsigned warps) const {
    begin_barrier(sent(), 1);
    begin_barrier(laid(0), warps);
    begin_barrier(laid(1), warps);
  }
};

// A unit's chunks of one tile, whose first row and column are given.
template <class Tile, int kUnit>
__device__ inline void send_unit(const GpuTileCall& tiles, const GpuTensorMap& map_c, unsigned from, int row,
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
  end_stores();
}

// A lent stage, on behalf of this block's consumers: every block of the cluster that writes to it must know.
template <class Tile>
__device__ inline void give_back(typename Tile::Stages& ring) {
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

// All tiles of a walk, by one thread. `below`, `aside`: where this block is in a tile of its cluster.
template <class Tile, class Walk>
__device__ inline void send_tiles(const GpuTileCall& tiles, const GpuTensorMap& map_c, Walk& walk,
                                  typename Tile::Stages& ring, const Chunks& chunks, int below, int aside) {
  unsigned phase = 0;
  while (walk.advance()) {
    ring.skip(walk.count);
    await_phase(chunks.laid(0), phase);
    send_unit<Tile, 0>(tiles, map_c, chunks.at, walk.row + below, walk.column + aside);
    if constexpr (Tile::kLends) {
      await_phase(chunks.laid(1), phase);
      send_unit<Tile, 1>(tiles, map_c, ring.stage(), walk.row + below, walk.column + aside);
      await_stores<1>();
    } else {
      await_stores<0>();
    }
    arrive(chunks.sent());
    if constexpr (Tile::kLends) {
      await_stores<0>();
      give_back<Tile>(ring);
    }
    phase ^= 1;
  }
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
