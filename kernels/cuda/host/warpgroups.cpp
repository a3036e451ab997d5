// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/cuda/host/warpgroups.hpp"

#include <algorithm>

#include "kernels/cuda/cluster_call.hpp"

namespace pbprobe {
namespace {

constexpr int64_t kLine = 128;     // bytes of k in a stage, and of a row of the swizzle
constexpr int64_t kMapAlign = 16;  // bytes: where a map and its rows begin

}  // namespace

bool reads_unaligned_b(const Kernel& kernel, const Problem& p) {
  return reads_unaligned_rows(kernel) && b_is_nk(p.layout) && p.n > 1 && p.ldb * size_of(p.b) % kMapAlign != 0;
}

int64_t count_blocks_at_once(int64_t sms, int64_t size) {
  // Clusters of 1 to 8 blocks that an H200 runs at once, by cudaOccupancyMaxActiveClusters and by their begin times.
  // The blocks of a cluster are on one GPC. GPCs differ between chips: an H100 seemed to run 30 of 3 and 15 of 5 to 7.
  constexpr int64_t kClusters[kGpuMostCluster] = {132, 66, 39, 30, 22, 17, 15, 15};
  return std::max<int64_t>(sms * kClusters[size - 1] / kClusters[0], 1) * size;
}

void cut_warpgroups(Plan& plan, int64_t sms, int64_t parts) {
  const Kernel& kernel = *plan.kernel;
  const Problem& p = plan.problem;
  plan.grid = {};
  if (splits_in_cluster(kernel)) {
    plan.split = 1;
    plan.gpu.part = stages_of(kernel, p) * kernel.tile.k;
    plan.gpu.cluster = parts * plan.gpu.shape.blocks();
    plan.grid.x = count_tiles(kernel, p, plan.gpu.shape) * parts;
    const bool several =
        kernel.work == GpuWork::clusters && takes_several_tiles(static_cast<int>(kernel.tile.m), is_fp8(kernel.dtype));
    plan.gpu.blocks_by_map = several ? std::min(plan.grid.x, count_blocks_at_once(sms, plan.gpu.cluster)) : plan.grid.x;
    return;
  }
  // If writing C takes most of the time, bands of half the rows are faster with ping-pong.
  constexpr int64_t kFewStages = 8;
  const int64_t group_rows = kernel.pingpong && stages_of(kernel, p) <= kFewStages ? 1024 : 2048;
  plan.gpu.part = divide_up(stages_of(kernel, p), parts) * kernel.tile.k;
  plan.split = std::max<int64_t>(divide_up(p.k, plan.gpu.part), 1);
  plan.gpu.cluster = kernel.cluster;
  plan.gpu.raster_group = group_rows / (kernel.tile.m * (kernel.across ? 1 : kernel.cluster));
  plan.grid.x = std::min(tiles_of(kernel, p) * plan.split, std::max<int64_t>(sms / kernel.cluster, 1)) * kernel.cluster;
}

namespace {

enum MapType : int { kMapUint8 = 0, kMapUint16 = 1, kMapUint32 = 2, kMapTf32 = 11 };

// Limits of a tensor map: elements of a side, bytes of a stride.
constexpr uint64_t kMostSize = uint64_t{1} << 32;
constexpr uint64_t kMostStride = uint64_t{1} << 40;

MapType map_type(DType type) {
  if (type == DType::tf32) return kMapTf32;  // the copy rounds to 10 bits
  return size_of(type) == 1 ? kMapUint8 : kMapUint16;
}

int64_t stride_of(int64_t leading, int64_t rows, int64_t element) {
  // A single row has no next row: its unused stride is rounded up to a valid one.
  const int64_t bytes = leading * element;
  return rows > 1 ? bytes : divide_up(std::max<int64_t>(bytes, 1), kMapAlign) * kMapAlign;
}

struct Matrix {
  const void* at;
  int64_t rows, columns, leading;  // stored rows and columns; elements between rows
  int64_t element;
  int type;
};

TensorMapShape map_of(const Matrix& m, int64_t box_columns, int64_t box_rows) {
  TensorMapShape map;
  map.type = m.type;
  map.at = m.at;
  map.sizes = {static_cast<uint64_t>(std::max<int64_t>(m.columns, 1)),
               static_cast<uint64_t>(std::max<int64_t>(m.rows, 1))};
  map.stride = static_cast<uint64_t>(stride_of(m.leading, m.rows, m.element));
  map.box = {static_cast<uint32_t>(box_columns), static_cast<uint32_t>(box_rows)};
  return map;
}

Result<void> check_limits(const TensorMapShape& map, const Plan& plan, const char* what) {
  if (std::max(map.sizes[0], map.sizes[1]) > kMostSize || map.stride >= kMostStride) {
    return make_error(ErrorCode::limit,
                      "{}: {} has {} rows of {} elements, {} bytes apart, and a tensor map holds sides of {} and less "
                      "than {} bytes: split the GEMM, or force a kernel of mma.sync",
                      describe(plan.problem), what, map.sizes[1], map.sizes[0], map.stride, kMostSize, kMostStride);
  }
  return {};
}

// Maps C in boxes of 64 rows, or of the rows of a cluster's tile, and 128 bytes, written by warpgroups. Skips the map
// if it cannot describe C, or if stores by TMA gain nothing; the kernel then writes without a map. Ping-pong always
// gains. For the other kernels, elements of 4 bytes take most of the ring, and without a second tile of a cluster
// nothing overlaps with the stores. A cluster's kernels gain if k is not split.
void map_c(WarpgroupMaps& maps, const Plan& plan) {
  const Problem& p = plan.problem;
  constexpr int64_t kChunkRows = 64;
  const GpuCall& call = maps.tiles.call;
  const int64_t element = size_of(p.c);
  // A store's boxes end at whole units of 16 bytes: where a row does not, it would write behind it.
  const bool named = p.n * element % kMapAlign == 0 && call.c_aligned != 0;
  const Kernel& kernel = *plan.kernel;
  const bool clusters = kernel.work == GpuWork::clusters;
  const bool whole =
      clusters ? plan.gpu.cluster == plan.gpu.shape.blocks() : tiles_of(kernel, p) * kernel.cluster > plan.grid.x;
  const bool gains = kernel.pingpong || ((clusters || kernel.work == GpuWork::warpgroups) && element == 2 && whole);
  const TensorMapShape map =
      map_of({call.c, p.m, p.n, call.ldc, element, element == 2 ? kMapUint16 : kMapUint32}, kLine / element,
             clusters ? std::clamp<int64_t>(p.m, 1, kernel.tile.m) : kChunkRows);
  const bool held = std::max(map.sizes[0], map.sizes[1]) <= kMostSize && map.stride < kMostStride;
  maps.tiles.by_map = named && gains && held && call.split == 1 && map.at != nullptr ? 1 : 0;
  if (maps.tiles.by_map) maps.c = map;
}

}  // namespace

Result<WarpgroupMaps> maps_of(const Plan& plan, const GpuCall& call) {
  const Problem& p = plan.problem;
  const Kernel& kernel = *plan.kernel;
  const bool in_cluster = splits_in_cluster(kernel);
  const bool a_mk = plan.gpu.transpose_a || !a_is_km(p.layout);
  const bool b_nk = plan.gpu.transpose_b || b_is_nk(p.layout);
  const int64_t element = size_of(p.a);
  const int64_t k = kLine / element;
  WarpgroupMaps maps;
  maps.tiles.call = call;
  maps.tiles.raster_group = static_cast<int>(std::max<int64_t>(plan.gpu.raster_group, 1));
  Matrix a{call.a, a_mk ? p.m : p.k, a_mk ? p.k : p.m, call.lda, element, map_type(p.a)};
  Matrix b{call.b, b_nk ? p.n : p.k, b_nk ? p.k : p.n, call.ldb, element, map_type(p.b)};
  // Dummy for an operand that is not read, or not read by its map.
  const Matrix nothing{nullptr, 1, 1, 1, element, map_type(p.a)};
  if (p.k == 0) a = nothing;
  if (p.k == 0 || plan.gpu.unaligned_b) b = nothing;
  // Lines that a block fetches: its own lines of one operand, its share of the cluster's lines of the other.
  const auto share_of = [](int64_t tile, int64_t lines, int64_t blocks) {
    return lines_of_block(static_cast<int>(tile), static_cast<int>(std::clamp<int64_t>(lines, 1, tile)),
                          static_cast<int>(blocks));
  };
  const int64_t a_lines = in_cluster ? share_of(kernel.tile.m, p.m, plan.gpu.shape.across)
                                     : kernel.tile.m / (kernel.across ? kernel.cluster : 1);
  const int64_t b_lines = kernel.work == GpuWork::clusters ? share_of(kernel.tile.n, p.n, plan.gpu.shape.down)
                                                           : kernel.tile.n / (kernel.across ? 1 : kernel.cluster);
  maps.a = map_of(a, k, a_mk ? a_lines : k);
  maps.b = map_of(b, k, b_nk ? b_lines : k / plan.gpu.shape.down);
  // They read 128 bytes of a column of B at a time, other blocks the rest later: filling 256 bytes was slower.
  if (in_cluster) maps.b.promotion = 2;
  PBPROBE_CHECK(check_limits(maps.a, plan, "A"));
  PBPROBE_CHECK(check_limits(maps.b, plan, "B"));
  map_c(maps, plan);
  return maps;
}

GpuClusterCall make_cluster_call(const Plan& plan, const WarpgroupMaps& maps, const GpuFp32Blocks& scales) {
  const Problem& p = plan.problem;
  const Tile& tile = plan.kernel->tile;
  const ClusterShape& shape = plan.gpu.shape;
  GpuClusterCall call{};
  call.down = static_cast<int>(shape.down);
  call.across = static_cast<int>(shape.across);
  call.parts = static_cast<int>(plan.gpu.cluster / shape.blocks());
  call.part_stages = static_cast<int>(divide_up(stages_of(*plan.kernel, p), std::max(call.parts, 1)));
  call.tiles_down = static_cast<int>(divide_up(p.m, tile.m * shape.down));
  call.tiles_across = static_cast<int>(divide_up(p.n, tile.n * shape.across));
  call.lines_a = static_cast<int>(maps.a.box[1]);
  call.lines_b = static_cast<int>(maps.b.box[1]);
  constexpr unsigned kBits = 4;
  for (int rank = 0; rank < call.parts * call.down * call.across; ++rank) {
    const int inside = rank % (call.down * call.across);
    call.part |= static_cast<unsigned>(rank / (call.down * call.across)) << (rank * kBits);
    call.row |= static_cast<unsigned>(inside / call.across) << (rank * kBits);
    call.column |= static_cast<unsigned>(inside % call.across) << (rank * kBits);
  }
  for (int row = 0; row < call.down; ++row) call.column_blocks |= 1U << (row * call.across);
  call.one_scale = p.per_tensor ? 1 : 0;
  call.fast_sums = p.fast_sums ? 1 : 0;
  call.scales = scales;
  return call;
}

}  // namespace pbprobe
