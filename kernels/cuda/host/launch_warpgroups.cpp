// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/driver/driver_api.hpp"
#include "kernels/cuda/cluster_call.hpp"
#include "kernels/cuda/host/launch.hpp"

namespace pbprobe {

Result<void> write_map(const DriverApi& driver, const TensorMapShape& shape, GpuTensorMap& map) {
  constexpr int kNoInterleave = 0;
  constexpr int kSwizzle128 = 3;
  constexpr int kZerosOutside = 0;
  constexpr uint32_t kEach[2] = {1, 1};
  // Non-null address for an operand without elements, which no kernel reads.
  alignas(16) static constexpr char kNothing[16] = {};
  const void* at = shape.at != nullptr ? shape.at : kNothing;
  PBPROBE_CU(
      driver, fmt::format("writing a tensor map of {} × {} elements", shape.sizes[1], shape.sizes[0]),
      cuTensorMapEncodeTiled(&map, shape.type, 2, const_cast<void*>(at), shape.sizes.data(), &shape.stride,
                             shape.box.data(), kEach, kNoInterleave, kSwizzle128, shape.promotion, kZerosOutside));
  return {};
}

Result<void> launch_warpgroups(const Plan& plan, const GpuCall& call, GpuFp32Blocks blocks, const std::string& symbol,
                               const Context& context) {
  const DriverApi& driver = context.gpu->driver();
  PBPROBE_TRY(WarpgroupMaps maps, maps_of(plan, call));
  GpuTensorMap a;
  GpuTensorMap b;
  PBPROBE_CHECK(write_map(driver, maps.a, a));
  PBPROBE_CHECK(write_map(driver, maps.b, b));
  GpuTensorMap c{};
  if (maps.tiles.by_map) PBPROBE_CHECK(write_map(driver, maps.c, c));
  GpuClusterCall cluster = make_cluster_call(plan, maps, blocks);
  // C's map may be unused; kernels of neither clusters nor FP8 take four.
  void* parameters[] = {&maps.tiles, &a, &b, &c, &cluster};
  Grid grid = plan.grid;
  if (plan.kernel->work == GpuWork::clusters && maps.tiles.by_map) grid.x = plan.gpu.blocks_by_map;
  constexpr int64_t kMoreReaders = 128;  // threads
  const int64_t threads = plan.kernel->threads + (plan.gpu.unaligned_b ? kMoreReaders : 0);
  return launch({plan.kernel->target, symbol, grid, threads, plan.shared_bytes, plan.gpu.cluster, plan.gpu.overlaps},
                context, parameters);
}

}  // namespace pbprobe
