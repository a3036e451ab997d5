// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The kernels of warpgroups (kernels/cuda/hopper.cuh): how they are cut, and what their tensor maps say. Pure host
// code.
#pragma once

#include <array>
#include <cstdint>

#include "core/result.hpp"
#include "kernels/cuda/cluster_call.hpp"
#include "kernels/cuda/tensor_map.hpp"
#include "kernels/gemm/plan.hpp"

namespace pbprobe {

// Reports whether a small-M kernel reads B by threads, because no tensor map can describe its unaligned rows along k.
[[nodiscard]] bool reads_unaligned_b(const Kernel& kernel, const Problem& problem);
// Returns the blocks that run at once in clusters of `size` (1 to 8), one on each SM.
[[nodiscard]] int64_t count_blocks_at_once(int64_t sms, int64_t size);
// Fills in grid, cluster, raster group, split and part. `parts`: split-K; for a kernel that splits k in a cluster, the
// parts of a cluster.
void cut_warpgroups(Plan& plan, int64_t sms, int64_t parts);
// Arguments of cuTensorMapEncodeTiled for one matrix.
struct TensorMapShape {
  int type = 0;                     // CUtensorMapDataType
  const void* at = nullptr;         // a multiple of 16 bytes
  std::array<uint64_t, 2> sizes{};  // elements of a row; rows
  uint64_t stride = 0;              // bytes from one row to the next
  int promotion = 3;                // CUtensorMapL2promotion: 256 bytes of L2 are filled at once; 2: 128 bytes
  std::array<uint32_t, 2> box{};    // columns and rows of one copy
};
struct WarpgroupMaps {
  TensorMapShape a, b;
  TensorMapShape c;     // set if tiles.by_map is 1
  GpuTileCall tiles{};  // default: no kernel stores by a map
};
// Returns the maps of operands as `call` has them after the passes. Error limit: a size or stride that a map cannot
// hold.
[[nodiscard]] Result<WarpgroupMaps> maps_of(const Plan& plan, const GpuCall& call);
// Returns the other argument of kernels of GpuWork::clusters and of FP8.
[[nodiscard]] GpuClusterCall make_cluster_call(const Plan& plan, const WarpgroupMaps& maps,
                                               const GpuFp32Blocks& scales);

}  // namespace pbprobe
