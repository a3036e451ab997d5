// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Arguments of the kernels of hopper_cluster.cuh besides GpuTileCall. Included by host and device code: plain data
// only.
#pragma once

#include "kernels/cuda/block_scales.hpp"

namespace pbprobe {

constexpr int kGpuMostCluster = 8;  // blocks that every GPU with clusters can hold together

// A cluster of down × across tiles, and one such for each part of k.
struct GpuClusterCall {
  int down;              // blocks one below the other, which share B
  int across;            // blocks side by side, which share A
  int one_scale;         // 1: scale_a and scale_b have one element each
  GpuFp32Blocks scales;  // for kernels of scales of blocks
};

}  // namespace pbprobe
