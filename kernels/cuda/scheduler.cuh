// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Which tiles of C a persistent cluster computes, one after the other. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/tensor_map.hpp"
#include "kernels/cuda/tma.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// Clusters take every tile whose number is theirs modulo their count. Numbers walk C in bands, so that clusters that
// run together share rows and columns in the L2 cache; the parts of a split k follow each other.
template <int kRows, int kColumns, int kDepths>
struct TileWalk {
  int down, across, height, parts;
  int stages, part_stages;  // of all of k, and of one part
  int next, step;
  // Of the tile that advance() found.
  int row, column, part, first_stage, count;

  __device__ TileWalk(const GpuTileCall& tiles, int cluster, int clusters) {
    const GpuCall& call = tiles.call;
    down = (call.m + kRows - 1) / kRows;
    across = (call.n + kColumns - 1) / kColumns;
    height = tiles.band;
    parts = call.split;
    stages = (call.k + kDepths - 1) / kDepths;
    part_stages = call.split == 1 ? stages : call.part / kDepths;
    next = cluster;
    step = clusters;
  }
  __device__ bool advance() {
    const int one = down * across;
    part = next / one;
    if (part >= parts) return false;
    const int tile = next - part * one;
    const int band = tile / (height * across);
    const int rows = min(height, down - band * height);
    const int inside = tile - band * height * across;
    row = (band * height + inside % rows) * kRows;
    column = inside / rows * kColumns;
    first_stage = part * part_stages;
    count = min(part_stages, stages - first_stage);
    next += step;
    return true;
  }
};

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
