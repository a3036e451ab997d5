// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The tile scheduler of persistent clusters. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/tensor_map.hpp"
#include "kernels/cuda/tma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// Static: a cluster takes every tile whose number is its own modulo the count of clusters. Tiles are numbered by raster
// groups, so that clusters that run at once share rows and columns in the L2 cache; with split-K, part after part.
template <int kRows, int kColumns, int kTileK>
struct TileScheduler {
  int down, across, height, parts;
  int stages, part_stages;  // stages of all of k; stages of one part
  int next, step;
  // Tile that advance() found.
  int row, column, part, first_stage, count;

  __device__ TileScheduler(const GpuTileCall& tiles, int cluster, int clusters) {
    const GpuCall& call = tiles.call;
    down = (call.m + kRows - 1) / kRows;
    across = (call.n + kColumns - 1) / kColumns;
    height = tiles.raster_group;
    parts = call.split;
    stages = (call.k + kTileK - 1) / kTileK;
    part_stages = call.split == 1 ? stages : call.part / kTileK;
    next = cluster;
    step = clusters;
  }
  __device__ bool advance() {
    const int one = down * across;
    part = next / one;
    if (part >= parts) return false;
    const int tile = next - part * one;
    const int group = tile / (height * across);
    const int rows = min(height, down - group * height);
    const int inside = tile - group * height * across;
    row = (group * height + inside % rows) * kRows;
    column = inside / rows * kColumns;
    first_stage = part * part_stages;
    count = min(part_stages, stages - first_stage);
    next += step;
    return true;
  }
};

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
