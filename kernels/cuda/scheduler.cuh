// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The tile scheduler of persistent clusters. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/tensor_map.hpp"
#include "kernels/cuda/tma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// A tile may begin at any row or column, unless 128 of them share a scale.
template <class Tile>
constexpr bool kMovesRows = true;
template <class Tile>
requires Tile::Scales::kScaled constexpr bool kMovesRows<Tile> = !Tile::Scales::kSquareBlocksA;
template <class Tile>
constexpr bool kMovesColumns = true;
template <class Tile>
requires Tile::Scales::kScaled constexpr bool kMovesColumns<Tile> = !Tile::Scales::kSquareBlocksB;

// TMA takes about four clocks for each line of a box outside of its operand. The last tile begins earlier instead, and
// computes some elements a second time, with the same result. A box begins at a multiple of 16 bytes of what is stored
// contiguously: columns of C, and of B if it is stored so; rows of A that is not contiguous along k. Any other place
// was an illegal instruction on an H200.
template <class Tile, bool kAKMajor>
__device__ inline void move_inside(const GpuCall& call, int& row, int& column) {
  constexpr int kUnit = kAKMajor ? 1 : 8;
  if (kMovesRows<Tile>) row = min(row, (max(call.m - Tile::kRows, 0) + kUnit - 1) / kUnit * kUnit);
  if (kMovesColumns<Tile> && call.n % 8 == 0) column = min(column, max(call.n - Tile::kColumns, 0));
}

// Static: a cluster takes every tile whose number is its own modulo the count of clusters. Tiles are numbered by raster
// groups, so that clusters that run at once share rows and columns in the L2 cache; with split-K, part after part.
template <class Tile, bool kAKMajor>
struct TileScheduler {
  static constexpr int kDown = Tile::kAcross ? 1 : Tile::kCluster;  // blocks of a cluster
  static constexpr int kAcross = Tile::kAcross ? Tile::kCluster : 1;
  static constexpr int kRows = Tile::kRows * kDown;
  static constexpr int kColumns = Tile::kColumns * kAcross;
  const GpuTileCall& tiles;
  unsigned down, across, parts;
  int stages, part_stages;  // stages of all of k; stages of one part
  unsigned next, step;
  // Tile of this block that advance() found.
  int row, column, part, first_stage, count;

  __device__ explicit TileScheduler(const GpuTileCall& of) : tiles(of) {
    const GpuCall& call = tiles.call;
    down = (call.m + kRows - 1) / kRows;
    across = (call.n + kColumns - 1) / kColumns;
    parts = call.split;
    stages = (call.k + Tile::kTileK - 1) / Tile::kTileK;
    part_stages = call.split == 1 ? stages : call.part / Tile::kTileK;
    next = blockIdx.x / Tile::kCluster;
    step = gridDim.x / Tile::kCluster;
  }
  // Unsigned divisions take fewer registers, of which the producers have few.
  __device__ bool advance() {
    const unsigned height = tiles.raster_group;
    const unsigned one = down * across;
    const unsigned of_k = next / one;
    if (of_k >= parts) return false;
    const unsigned tile = next - of_k * one;
    const unsigned group = tile / (height * across);
    const unsigned rows = min(height, down - group * height);
    const unsigned inside = tile - group * height * across;
    const unsigned right = inside / rows;
    const unsigned rank = blockIdx.x % Tile::kCluster;
    row = static_cast<int>((group * height + inside - right * rows) * kRows + rank % kDown * Tile::kRows);
    column = static_cast<int>(right * kColumns + rank % kAcross * Tile::kColumns);
    move_inside<Tile, kAKMajor>(tiles.call, row, column);
    part = static_cast<int>(of_k);
    first_stage = part * part_stages;
    count = min(part_stages, stages - first_stage);
    next += step;
    return true;
  }
};

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
