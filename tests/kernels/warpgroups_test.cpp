// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The kernels of warpgroups on the host's side: rows against limits, cuts, and what their tensor maps say.
#include "kernels/cuda/host/warpgroups.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/targets.hpp"
#include "kernels/dispatch/model.hpp"

namespace pbprobe {
namespace {

constexpr int64_t kSms = 132;
const Gpu kGpu{.sm_count = kSms, .max_sm_clock_mhz = 1980};

Kernel kernel(GpuWork work, int64_t rows, int64_t columns, int64_t cluster, DType type = DType::bf16) {
  Kernel result;
  result.target = "sm90";
  result.name = "kernel";
  result.dtype = type;
  result.tile = {rows, columns, 128 / size_of(type)};
  result.threads = 384;
  result.share = 95;
  result.work = work;
  result.cluster = cluster;
  return result;
}

Plan cut(const Kernel& of, const Problem& problem) {
  Plan plan;
  plan.kernel = &of;
  plan.problem = problem;
  plan.tile = of.tile;
  cut_warpgroups(plan, kSms, best_split(of, problem, kGpu).parts);
  return plan;
}

Plan cut_clusters(const Kernel& of, const Problem& problem, const ClusterShape& shape, int64_t parts) {
  Plan plan;
  plan.kernel = &of;
  plan.problem = problem;
  plan.gpu.shape = shape;
  cut_warpgroups(plan, kSms, parts);
  return plan;
}

GpuCall make_call(const Problem& p, uintptr_t a, uintptr_t b) {
  GpuCall call{};
  call.a = reinterpret_cast<const void*>(a);
  call.b = reinterpret_cast<const void*>(b);
  call.lda = p.lda;
  call.ldb = p.ldb;
  call.ldc = p.ldc;
  call.m = static_cast<int>(p.m);
  call.n = static_cast<int>(p.n);
  call.k = static_cast<int>(p.k);
  return call;
}

// Shared memory is a ring of stages of 128 bytes, aligned, two barriers a stage. Tiles add C's chunks with three
// barriers, or a barrier a warpgroup for ping-pong; clusters and FP8 add a tile of C, clusters also two sets of row
// scales; TMA-fed mma.sync adds its pieces.
TEST(Warpgroups, RowsHoldTheirStagesAndFitTheSm) {
  int64_t rows = 0;
  for (const auto& kernel : kernel_table()) {
    if (kernel.work == GpuWork::blocks) continue;
    ++rows;
    const bool small_m = kernel.work == GpuWork::small_m;
    const bool in_cluster = splits_in_cluster(kernel);
    const int64_t lines = small_m && kernel.max_m < 128 ? 2 : 1;
    const bool scaled = are_fp32(kernel.block_scale);
    const int64_t both = kernel.tile.m + kernel.tile.n;
    const int64_t stage = lines * both * 128 + 16 + (scaled ? both * 4 : 0);
    const int64_t chunks = kernel.tile.n == 192 ? 49152 : 32768;
    const bool fp8 = is_fp8(kernel.dtype);
    const bool tma_mma = kernel.work == GpuWork::tma_mma;
    const int64_t tile_of_c = kernel.tile.m * kernel.tile.n * 2;
    const int64_t exits = tma_mma ? 4 * 2 * 2048
                          : fp8   ? (scaled ? tile_of_c : chunks)
                                  : chunks + (kernel.pingpong ? 16 : 24);
    const int64_t in_clusters = kernel.work == GpuWork::clusters ? tile_of_c + kernel.tile.m * 8 : 0;
    const int64_t ring = kernel.shared_bytes - 1024 - (in_cluster ? in_clusters : exits);
    EXPECT_EQ(ring % stage, 0) << kernel.name;
    EXPECT_GE(ring / stage, tma_mma ? 2 : fp8 ? 3 : 4) << kernel.name;
    const auto& limits = find_target(kernel.target)->limits;
    EXPECT_LE(kernel.shared_bytes, limits.shared_per_block_bytes.value_or(0)) << kernel.name;
    constexpr int64_t kReserved = 1024;  // the driver's share of each block
    EXPECT_LE(kernel.blocks * (kernel.shared_bytes + kReserved), 228 * 1024) << kernel.name;
    EXPECT_EQ(kernel.tile.k * size_of(kernel.dtype), 128) << kernel.name;
    EXPECT_EQ(kernel.threads, tma_mma                            ? 4 * 32 + 32
                              : kernel.work == GpuWork::clusters ? 128 + 2 * kernel.tile.n
                              : kernel.max_m == 16               ? 256
                                                                 : 384)
        << kernel.name;
    EXPECT_EQ(small_m, kernel.max_m == kernel.tile.m) << kernel.name;
  }
  EXPECT_EQ(rows, 163);
}

TEST(Warpgroups, MakesPersistentGridOfWholeClusters) {
  const Kernel wide = kernel(GpuWork::warpgroups, 128, 256, 2);
  const Plan large = cut(wide, make_problem(8192, 8192, 8192, DType::bf16));
  EXPECT_EQ(large.grid.x, 132);
  EXPECT_EQ(large.gpu.cluster, 2);
  EXPECT_EQ(large.gpu.raster_group, 8);
  EXPECT_EQ(large.split, 1);
  // One tile: a cluster, and no more where k is short.
  EXPECT_EQ(cut(wide, make_problem(1, 1, 64, DType::bf16)).grid.x, 2);
}

TEST(Warpgroups, KIsSplitWhereTilesAreFew) {
  const Kernel wide = kernel(GpuWork::warpgroups, 128, 256, 2);
  const Plan plan = cut(wide, make_problem(256, 256, 65536, DType::bf16));
  EXPECT_GT(plan.split, 1);
  EXPECT_EQ(plan.gpu.part % wide.tile.k, 0);
  EXPECT_GE(plan.gpu.part * plan.split, 65536);
  EXPECT_LT(plan.gpu.part * (plan.split - 1), 65536) << "no part is empty";
  EXPECT_EQ(plan.grid.x, 2 * plan.split);
}

TEST(Warpgroups, CountsBlocksThatRunAtOnce) {
  const auto blocks = [](int64_t size) { return count_blocks_at_once(132, size); };
  EXPECT_EQ(blocks(1), 132);
  EXPECT_EQ(blocks(2), 132);
  EXPECT_EQ(blocks(3), 117) << "39 clusters, while only 30 of four blocks fit";
  EXPECT_EQ(blocks(4), 120);
  EXPECT_EQ(blocks(5), 110);
  EXPECT_EQ(blocks(6), 102);
  EXPECT_EQ(blocks(7), 105);
  EXPECT_EQ(blocks(8), 120);
  EXPECT_EQ(count_blocks_at_once(1, 8), 8) << "at least one cluster";
}

TEST(Warpgroups, SmallMSplitsKInACluster) {
  Kernel small_m = kernel(GpuWork::small_m, 16, 128, 1);
  small_m.blocks = 2;
  const auto unaligned = [&](int64_t n) { return cut(small_m, make_problem(16, n, 16383, DType::bf16)).grid.x; };
  EXPECT_GE(unaligned(8192), 128) << "threads that read B have less under way";
  const Plan decode = cut(small_m, make_problem(16, 4096, 8192, DType::bf16));
  EXPECT_GT(decode.gpu.cluster, 1);
  EXPECT_EQ(decode.grid.x, 32 * decode.gpu.cluster);
  EXPECT_EQ(decode.split, 1) << "nothing in the workspace";
  EXPECT_EQ(cut(small_m, make_problem(16, 1024, 8192, DType::bf16)).gpu.cluster, 8);
  EXPECT_EQ(cut(small_m, make_problem(16, 32768, 8192, DType::bf16)).gpu.cluster, 1);
  EXPECT_EQ(cut(small_m, make_problem(16, 1024, 64, DType::bf16)).gpu.cluster, 1) << "k of one stage";
}

TEST(Warpgroups, ClustersShareOperandsAndSplitK) {
  const Kernel tile = kernel(GpuWork::clusters, 80, 64, 1);
  const Plan plan = cut_clusters(tile, make_problem(300, 500, 6400, DType::bf16), {2, 2}, 2);
  EXPECT_EQ(plan.gpu.cluster, 8);
  EXPECT_EQ(plan.grid.x, 2 * 4 * 8) << "clusters of 160 × 128, the last ones partly outside of C";
  EXPECT_EQ(plan.split, 1) << "no second kernel";
  const auto maps = maps_of(plan, make_call(plan.problem, 0x1000, 0x2000));
  ASSERT_TRUE(maps.ok()) << maps.error().message;
  EXPECT_THAT(maps->a.box, testing::ElementsAre(64, 40)) << "half of A for each of two side by side";
  EXPECT_THAT(maps->b.box, testing::ElementsAre(64, 32)) << "half of B for each of two below each other";
}

TEST(Warpgroups, CopiesOnlyLinesThatExist) {
  const Kernel tile = kernel(GpuWork::clusters, 80, 64, 1);
  Plan plan = cut_clusters(tile, make_problem(18, 40, 640, DType::bf16), {1, 4}, 1);
  const auto maps = maps_of(plan, make_call(plan.problem, 0x1000, 0x2000));
  ASSERT_TRUE(maps.ok()) << maps.error().message;
  EXPECT_THAT(maps->a.box, testing::ElementsAre(64, 5)) << "a quarter of 18 rows, rounded up";
  EXPECT_THAT(maps->b.box, testing::ElementsAre(64, 40));

  Kernel small_m = kernel(GpuWork::small_m, 16, 128, 1);
  plan = cut(small_m, make_problem(3, 40, 640, DType::bf16));
  const auto few = maps_of(plan, make_call(plan.problem, 0x1000, 0x2000));
  ASSERT_TRUE(few.ok()) << few.error().message;
  EXPECT_THAT(few->a.box, testing::ElementsAre(64, 3));
  EXPECT_THAT(few->b.box, testing::ElementsAre(64, 128)) << "this kernel awaits all columns of its tile";
}

GpuClusterCall make_call_of_clusters(const Problem& problem, const ClusterShape& shape, int64_t parts) {
  const Kernel tile = kernel(GpuWork::clusters, 96, 128, 1);
  const Plan plan = cut_clusters(tile, problem, shape, parts);
  const auto maps = maps_of(plan, make_call(problem, 0x1000, 0x2000));
  EXPECT_TRUE(maps.ok());
  return make_cluster_call(plan, maps.ok() ? *maps : WarpgroupMaps(), {});
}

// Two parts of k, each of 2 × 2 tiles: rank after rank, as the blocks of a cluster are numbered.
TEST(ClusterCall, PlacesEachBlock) {
  const GpuClusterCall call = make_call_of_clusters(make_problem(400, 1000, 64 * 5, DType::bf16), {2, 2}, 2);
  EXPECT_EQ(call.part, 0x11110000U);
  EXPECT_EQ(call.row, 0x11001100U);
  EXPECT_EQ(call.column, 0x10101010U);
  EXPECT_EQ(call.column_blocks, 0b101U);
  EXPECT_EQ(call.parts, 2);
  EXPECT_EQ(call.part_stages, 3) << "the second part has two";
  EXPECT_EQ(call.tiles_down, 3) << "192 rows each";
  EXPECT_EQ(call.tiles_across, 4) << "256 columns each";
  EXPECT_EQ(call.lines_a, 48);
  EXPECT_EQ(call.lines_b, 64);
}
// One row and three columns: no power of two.
TEST(ClusterCall, PlacesBlocksOfOddClusters) {
  const GpuClusterCall call = make_call_of_clusters(make_problem(96, 1000, 64, DType::bf16), {1, 3}, 1);
  EXPECT_EQ(call.part, 0U);
  EXPECT_EQ(call.row, 0U);
  EXPECT_EQ(call.column, 0x210U);
  EXPECT_EQ(call.column_blocks, 1U);
  EXPECT_EQ(call.tiles_across, 3) << "384 columns each";
  EXPECT_EQ(call.lines_a, 32);
}

TEST(Warpgroups, ClustersFetchWholePatternsOfTheSwizzle) {
  const Kernel tile = kernel(GpuWork::clusters, 80, 64, 1);
  const Problem problem = make_problem(300, 500, 6400, DType::bf16);
  const auto shape_of = [&](int64_t down, int64_t across) {
    const ClusterShape shape = make_split(tile, problem, kGpu, 1, {down, across}).shape;
    return std::pair(shape.down, shape.across);
  };
  EXPECT_EQ(shape_of(2, 2), std::pair(int64_t{2}, int64_t{2}));
  EXPECT_EQ(shape_of(8, 1), std::pair(int64_t{8}, int64_t{1}));
  EXPECT_EQ(shape_of(1, 4), std::pair(int64_t{1}, int64_t{1})) << "a quarter of 80 rows is no multiple of 8";
  EXPECT_EQ(shape_of(8, 2), std::pair(int64_t{1}, int64_t{1})) << "more than 8 blocks";
  EXPECT_EQ(make_split(tile, problem, kGpu, 8, {2, 2}).parts, 2) << "8 blocks of a cluster";
}

TEST(Warpgroups, TakesTheFitOfTheDeviceElseTheNearest) {
  Gpu gpu = kGpu;
  for (const Fit& fit : fits()) {
    gpu.name = fit.device;
    EXPECT_EQ(find_fit(gpu).device, fit.device);
  }
  gpu.name = "an unknown card";
  EXPECT_EQ(find_fit(gpu).device, fits().front().device);
}

TEST(Warpgroups, MapsSayWhereTheMatricesLie) {
  const Kernel wide = kernel(GpuWork::warpgroups, 128, 256, 2);
  auto problem = make_problem(300, 500, 200, DType::bf16);
  problem.lda = 208;
  problem.ldb = 216;
  const Plan plan = cut(wide, problem);
  const auto maps = maps_of(plan, make_call(problem, 0x1000, 0x2000));
  ASSERT_TRUE(maps.ok()) << maps.error().message;
  EXPECT_THAT(maps->a.sizes, testing::ElementsAre(200, 300));
  EXPECT_EQ(maps->a.stride, 416U);
  EXPECT_THAT(maps->a.box, testing::ElementsAre(64, 128));
  EXPECT_THAT(maps->b.sizes, testing::ElementsAre(200, 500));
  EXPECT_THAT(maps->b.box, testing::ElementsAre(64, 128)) << "a block of two fetches half of 256 columns";
  const Kernel small_m = kernel(GpuWork::small_m, 16, 64, 1);
  const auto of_small_m = maps_of(cut(small_m, problem), make_call(problem, 0x1000, 0x2000));
  EXPECT_THAT(of_small_m->a.box, testing::ElementsAre(64, 16));
  EXPECT_THAT(of_small_m->b.box, testing::ElementsAre(64, 64));
  EXPECT_EQ(of_small_m->b.promotion, 2);
  EXPECT_EQ(of_small_m->tiles.by_map, 0) << "such kernels write C themselves";
  EXPECT_EQ(maps->b.promotion, 3);
  EXPECT_EQ(maps->b.stride, 432U);
}

// The other way round, 64 lines and 64 k a box.
TEST(Warpgroups, MapsOfMatricesAlongTheirLines) {
  const Kernel wide = kernel(GpuWork::warpgroups, 128, 256, 2);
  const auto problem = make_problem(256, 512, 128, DType::bf16, DType::fp32, Layout::tn);
  const auto maps = maps_of(cut(wide, problem), make_call(problem, 0x1000, 0x2000));
  ASSERT_TRUE(maps.ok()) << maps.error().message;
  EXPECT_THAT(maps->a.sizes, testing::ElementsAre(256, 128));
  EXPECT_THAT(maps->a.box, testing::ElementsAre(64, 64));
  EXPECT_THAT(maps->b.sizes, testing::ElementsAre(512, 128));
  EXPECT_THAT(maps->b.box, testing::ElementsAre(64, 64));
}

// C as it is stored, in boxes of what one store takes: 64 rows and 128 bytes.
TEST(Warpgroups, MapsCIfRowsAreAligned) {
  const Kernel wide = kernel(GpuWork::warpgroups, 128, 256, 2);
  auto problem = make_problem(4100, 4104, 200, DType::bf16, DType::bf16);
  problem.ldc = 4112;
  GpuCall call = make_call(problem, 0x1000, 0x2000);
  call.c = reinterpret_cast<void*>(uintptr_t{0x3000});
  call.split = 1;
  call.c_aligned = 1;
  const auto maps = maps_of(cut(wide, problem), call);
  ASSERT_TRUE(maps.ok()) << maps.error().message;
  EXPECT_EQ(maps->tiles.by_map, 1);
  EXPECT_EQ(maps->c.at, call.c);
  EXPECT_THAT(maps->c.sizes, testing::ElementsAre(4104, 4100)) << "elements behind a row are not part of C";
  EXPECT_EQ(maps->c.stride, 8224U);
  EXPECT_THAT(maps->c.box, testing::ElementsAre(64, 64));
}

// In all of these the warps write C themselves.
TEST(Warpgroups, OmitsUselessOrUnsafeMapOfC) {
  const Kernel wide = kernel(GpuWork::warpgroups, 128, 256, 2);
  const auto by_map = [&](int64_t m, int64_t n, int c_aligned) {
    const auto problem = make_problem(m, n, 200, DType::bf16, DType::bf16);
    GpuCall call = make_call(problem, 0x1000, 0x2000);
    call.c = reinterpret_cast<void*>(uintptr_t{0x3000});
    call.split = 1;
    call.c_aligned = c_aligned;
    return maps_of(cut(wide, problem), call)->tiles.by_map;
  };
  EXPECT_EQ(by_map(4100, 4104, 1), 1);
  EXPECT_EQ(by_map(4100, 4104, 0), 0) << "unaligned rows";
  const auto words = make_problem(4100, 4104, 200, DType::bf16, DType::fp32);
  GpuCall call = make_call(words, 0x1000, 0x2000);
  call.c = reinterpret_cast<void*>(uintptr_t{0x3000});
  call.split = call.c_aligned = 1;
  EXPECT_EQ(maps_of(cut(wide, words), call)->tiles.by_map, 0) << "elements of 4 bytes";
  EXPECT_EQ(by_map(4100, 4100, 1), 0) << "stores write whole units of 16 bytes: four elements too many in each row";
  EXPECT_EQ(by_map(2048, 2048, 1), 0) << "a tile for each cluster, and nothing beside which its stores could go on";
}

// C of 2 bytes in boxes of a tile's rows, unless blocks of the cluster take parts of k.
TEST(Warpgroups, MapsCOfClustersIfKIsWhole) {
  const Kernel tile = kernel(GpuWork::clusters, 96, 128, 1);
  const auto map = [&](DType c, int64_t n, int64_t parts) {
    const auto problem = make_problem(300, n, 4096, DType::bf16, c);
    Plan plan;
    plan.kernel = &tile;
    plan.problem = problem;
    plan.tile = tile.tile;
    plan.gpu.shape = {2, 1};
    cut_warpgroups(plan, kSms, parts);
    GpuCall call = make_call(problem, 0x1000, 0x2000);
    call.c = reinterpret_cast<void*>(uintptr_t{0x3000});
    call.split = call.c_aligned = 1;
    return *maps_of(plan, call);
  };
  const auto whole = map(DType::bf16, 512, 1);
  EXPECT_EQ(whole.tiles.by_map, 1);
  EXPECT_THAT(whole.c.box, testing::ElementsAre(64, 96));
  EXPECT_THAT(whole.c.sizes, testing::ElementsAre(512, 300));
  EXPECT_EQ(map(DType::bf16, 512, 2).tiles.by_map, 0) << "the parts are added first";
  EXPECT_EQ(map(DType::fp32, 512, 1).tiles.by_map, 0) << "elements of 4 bytes";
  EXPECT_EQ(map(DType::bf16, 500, 1).tiles.by_map, 0) << "rows that do not end with a unit of 16 bytes";
}

// Whatever C's elements, and though a cluster has but one tile; not with split-K, whose parts are added first.
TEST(Warpgroups, PingPongStoresWordsByTmaToo) {
  Kernel narrow = kernel(GpuWork::warpgroups, 128, 128, 2, DType::int8);
  narrow.across = narrow.pingpong = true;
  const auto problem = make_problem(300, 500, 256, DType::int8, DType::int32);
  GpuCall call = make_call(problem, 0x1000, 0x2000);
  call.c = reinterpret_cast<void*>(uintptr_t{0x3000});
  call.split = call.c_aligned = 1;
  const auto maps = maps_of(cut(narrow, problem), call);
  ASSERT_TRUE(maps.ok()) << maps.error().message;
  EXPECT_EQ(maps->tiles.by_map, 1);
  EXPECT_EQ(maps->c.type, 2) << "32 bits";
  EXPECT_THAT(maps->c.box, testing::ElementsAre(32, 64));
  EXPECT_THAT(maps->c.sizes, testing::ElementsAre(500, 300));
  EXPECT_EQ(maps->c.stride, 2000U);
  EXPECT_THAT(maps->a.box, testing::ElementsAre(128, 64)) << "half of the rows that a cluster shares";
  EXPECT_THAT(maps->b.box, testing::ElementsAre(128, 128));
  call.split = 2;
  EXPECT_EQ(maps_of(cut(narrow, problem), call)->tiles.by_map, 0);
}

TEST(Warpgroups, PingPongComputesAnOnlyTileByHalfOfItsWarps) {
  Kernel narrow = kernel(GpuWork::warpgroups, 128, 128, 2, DType::int8);
  narrow.across = true;
  narrow.pingpong = true;
  const auto seconds = [&](int64_t m) {
    return make_split(narrow, make_problem(m, 4096, 65536, DType::int8), kGpu, 1).seconds;
  };
  EXPECT_LT(seconds(1024), 1.8 * seconds(512)) << "two tiles of a block against one";
  EXPECT_EQ(cut(narrow, make_problem(8192, 8192, 4096, DType::int8)).gpu.raster_group, 16) << "2048 rows";
  EXPECT_EQ(cut(narrow, make_problem(8192, 8192, 1024, DType::int8)).gpu.raster_group, 8)
      << "1024 rows: C takes the time";
}

// Side by side, a block fetches its own columns of B and its share of A's rows.
TEST(Warpgroups, SharesAInClusterAcross) {
  Kernel wide = kernel(GpuWork::warpgroups, 128, 192, 2);
  wide.across = true;
  const auto problem = make_problem(2112, 7168, 256, DType::bf16);
  const Plan plan = cut(wide, problem);
  EXPECT_EQ(plan.gpu.raster_group, 16) << "2048 rows";
  const auto maps = maps_of(plan, make_call(problem, 0x1000, 0x2000));
  ASSERT_TRUE(maps.ok()) << maps.error().message;
  EXPECT_THAT(maps->a.box, testing::ElementsAre(64, 64));
  EXPECT_THAT(maps->b.box, testing::ElementsAre(64, 192));
  // 17 rows of tiles and 2 pairs of columns, where the other way round there are 9 and 4.
  EXPECT_EQ(cut(wide, make_problem(2112, 768, 64, DType::bf16)).grid.x, 2 * 17 * 2);
  wide.across = false;
  EXPECT_EQ(cut(wide, make_problem(2112, 768, 64, DType::bf16)).grid.x, 2 * 9 * 4);
}

// Tiles of 128 × 128 by single blocks: each operand comes in boxes of 128 rows, and C leaves without a map.
TEST(Warpgroups, TmaMmaFetchesItsWholeTile) {
  const Kernel tma_mma = kernel(GpuWork::tma_mma, 128, 128, 1);
  const auto problem = make_problem(4096, 4096, 4096, DType::bf16);
  const Plan plan = cut(tma_mma, problem);
  EXPECT_EQ(plan.grid.x, kSms);
  EXPECT_EQ(plan.gpu.cluster, 1);
  EXPECT_EQ(plan.gpu.raster_group, 16);
  EXPECT_EQ(plan.split, 1);
  auto call = make_call(problem, 0x1000, 0x2000);
  call.c = reinterpret_cast<void*>(0x3000);
  call.c_aligned = 1;
  call.split = 1;
  const auto maps = maps_of(plan, call);
  ASSERT_TRUE(maps.ok()) << maps.error().message;
  EXPECT_THAT(maps->a.box, testing::ElementsAre(64, 128));
  EXPECT_THAT(maps->b.box, testing::ElementsAre(64, 128));
  EXPECT_EQ(maps->tiles.by_map, 0);
  // Fewer tiles than SMs: k is split, and the grid holds every part.
  const Plan split = cut(tma_mma, make_problem(256, 256, 65536, DType::bf16));
  EXPECT_GT(split.split, 4);
  EXPECT_EQ(split.grid.x, 4 * split.split);
}

TEST(Warpgroups, ReportsLimitOfTensorMap) {
  const Kernel wide = kernel(GpuWork::warpgroups, 128, 256, 2);
  auto problem = make_problem(300, 500, 200, DType::bf16);
  problem.lda = int64_t{1} << 40;
  const auto maps = maps_of(cut(wide, problem), make_call(problem, 0x1000, 0x2000));
  ASSERT_FALSE(maps.ok());
  EXPECT_EQ(maps.error().code, ErrorCode::limit);
  EXPECT_THAT(maps.error().message, testing::HasSubstr("tensor map"));
}

}  // namespace
}  // namespace pbprobe
