// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Arguments of the kernels of hopper_cluster.cuh and hopper_fp8.cuh besides GpuTileCall. Included by host and device
// code: plain data only.
#pragma once

#include "kernels/cuda/block_scales.hpp"

namespace pbprobe {

constexpr int kGpuMostCluster = 8;  // blocks that every GPU with clusters can hold together

// Reports whether a cluster may compute several tiles of so many rows, where TMA stores C. The sums of FP8 (`narrow`)
// leave no registers for it with many rows.
constexpr bool takes_several_tiles(int rows, bool narrow) {
  return !narrow || rows <= 128;
}

// Returns the lines that each of the blocks that share an operand's tile of `tile` lines fetches: no more than the
// operand has (`lines`), because TMA takes about four clocks for each line outside of it. A share may begin at any
// line: the swizzle follows the address in shared memory.
PBPROBE_EVERYWHERE constexpr int lines_of_block(int tile, int lines, int blocks) {
  return ((lines < tile ? lines : tile) + blocks - 1) / blocks;
}

// A cluster of down × across tiles, and one such for each part of k. FP8 kernels of fixed clusters ignore the shape.
// The host computes all that a block needs before its first copy, because this took half a microsecond in the kernels.
struct GpuClusterCall {
  int down;                    // blocks one below the other, which share B
  int across;                  // blocks side by side, which share A
  int one_scale;               // 1: scale_a and scale_b have one element each
  int fast_sums;               // 1: the tensor core adds all of k, in FP8 without scales of blocks
  GpuFp32Blocks scales;        // for kernels of scales of blocks
  int parts;                   // parts of k
  int part_stages;             // stages of a part; the last part may have fewer
  int tiles_down;              // clusters that compute all rows of C
  int tiles_across;            // and all columns
  int lines_a;                 // lines of its tile of A that a block fetches
  int lines_b;                 // likewise for B; rows along k, if B is [K,N]
  unsigned part, row, column;  // place in the cluster of the block of each rank: four bits for each
  unsigned column_blocks;      // mask: ranks of the first part's first column
};

}  // namespace pbprobe
