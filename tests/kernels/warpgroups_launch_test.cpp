// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Launches of kernels that read their operands by tensor copies, on a driver that only takes notes: which kernels, in
// which order, and which of them may begin before those ahead have ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/block_scales.hpp"
#include "kernels/cuda/cluster_call.hpp"
#include "kernels/cuda/host/gpu.hpp"
#include "kernels/dispatch/choose.hpp"
#include "kernels/dispatch/run.hpp"
#include "tests/kernels/loading_driver.hpp"
#include "tests/kernels/tcgen05.hpp"

namespace pbprobe {
namespace {

using testing::ElementsAre;

struct Launched {
  std::string kernel;
  unsigned blocks = 0;
  unsigned threads = 0;
  bool overlaps = false;
  GpuFp32Blocks scales = {};  // scales, if the kernel has them
  bool one_scale = false;     // operands have one scale each
  bool fast_sums = false;     // the tensor core adds all of k
};
std::vector<Launched> launched;

DriverApi noting_driver() {
  DriverApi driver = test::loading_driver();
  driver.cuTensorMapEncodeTiled = [](void*, int, unsigned, void*, const uint64_t* sizes, const uint64_t*,
                                     const uint32_t*, const uint32_t*, int, int, int, int) {
    return sizes[0] == 0 || sizes[1] == 0 ? CuResult{1} : CuResult{kCudaSuccess};
  };
  driver.cuLaunchKernelEx = [](const CuLaunchConfig* config, CuFunction function, void** parameters, void**) {
    Launched one{test::name_of_function(function), config->grid[0], config->block[0]};
    for (unsigned i = 0; i < config->attribute_count; ++i) {
      const auto& attribute = config->attributes[i];
      if (attribute.id == kCuLaunchProgrammaticSerialization) one.overlaps = attribute.value.flag == 1;
    }
    if (one.kernel.find("wgmma_") != std::string::npos) {
      const auto& cluster = *static_cast<const GpuClusterCall*>(parameters[4]);
      one.scales = cluster.scales;
      one.one_scale = cluster.one_scale != 0;
      one.fast_sums = cluster.fast_sums != 0;
    }
    launched.push_back(one);
    return 0;
  };
  driver.cuLaunchKernel = [](CuFunction function, unsigned x, unsigned, unsigned, unsigned, unsigned, unsigned,
                             unsigned, CuStream, void**, void**) {
    launched.push_back({test::name_of_function(function), x});
    return 0;
  };
  return driver;
}

class WarpgroupLaunches : public testing::Test {
 protected:
  explicit WarpgroupLaunches(const char* target = "sm90", int64_t sms = 132) : target_(target), sms_(sms) {}
  void SetUp() override {
    if (!find_build(target_)->built) GTEST_SKIP() << "no kernels of " << target_ << " are built";
    driver_ = noting_driver();
    auto kernels = GpuKernels::load(driver_, target_);
    ASSERT_TRUE(kernels.ok()) << kernels.error().message;
    kernels_.emplace(std::move(*kernels));
  }
  // Launches with this kernel, or with the chosen one; A begins `misaligned` bytes behind a multiple of 256.
  void launch_it(const Problem& problem, std::optional<std::string> kernel, uintptr_t misaligned = 0) {
    launched.clear();
    ChooseOptions options;
    options.kernel = std::move(kernel);
    options.gpu = 0;
    const auto plan = choose(problem, test::make_tcgen05_host(target_, sms_), {}, options);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    const auto at = [](uintptr_t address) { return reinterpret_cast<std::byte*>(address); };
    Context context;
    context.workspace = at(0x7f9000000000);
    context.workspace_bytes = plan->workspace_bytes;
    context.gpu = &*kernels_;
    const Operands operands{.a = at(0x7f0000000000 + misaligned),
                            .b = at(0x7f4000000000),
                            .c = at(0x7f8000000000),
                            .scale_a = scales_,
                            .scale_b = scales_,
                            .blocks_a = scales_,
                            .blocks_b = scales_ + 1};
    const auto result = run(*plan, operands, context);
    ASSERT_TRUE(result.ok()) << result.error().message;
  }
  static auto are(const char* kernel, unsigned blocks, bool overlaps) {
    return testing::AllOf(testing::Field(&Launched::kernel, kernel), testing::Field(&Launched::blocks, blocks),
                          testing::Field(&Launched::overlaps, overlaps));
  }
  const char* target_;
  int64_t sms_;
  const float* scales_ = reinterpret_cast<const float*>(uintptr_t{0x7fa000000000});
  DriverApi driver_;
  std::optional<GpuKernels> kernels_;
};

TEST_F(WarpgroupLaunches, BeginBeforeWhatIsAheadHasEnded) {
  launch_it(make_problem(4096, 4096, 4096, DType::bf16), "wgmma_bf16_128x256_sm90");
  EXPECT_THAT(launched, ElementsAre(are("wgmma_bf16_128x256_nt", 132, true)));
}

// The clusters that run at once compute all tiles if TMA stores C; otherwise each cluster computes one.
TEST_F(WarpgroupLaunches, GiveClustersSeveralTiles) {
  Problem problem = make_problem(16, 12800, 512, DType::bf16, DType::bf16);
  launch_it(problem, "wgmma_bf16_cluster_16x64_sm90");
  EXPECT_THAT(launched, ElementsAre(are("wgmma_bf16_cluster_16x64_nt", 132, true)));
  problem.ldc += 1;
  launch_it(problem, "wgmma_bf16_cluster_16x64_sm90");
  EXPECT_THAT(launched, ElementsAre(are("wgmma_bf16_cluster_16x64_nt", 200, true)));
  launch_it(make_problem(160, 12800, 512, DType::e4m3, DType::bf16), "wgmma_e4m3_cluster_160x128_sm90");
  EXPECT_THAT(launched, ElementsAre(are("wgmma_e4m3_cluster_160x128_nt", 100, true)));
}

// So no pass repeats the scale for each row.
TEST_F(WarpgroupLaunches, PassOneScaleAndFastSumsToTheKernel) {
  Problem problem = make_problem(512, 512, 512, DType::e4m3, DType::bf16);
  problem.scale_a = problem.scale_b = problem.per_tensor = true;
  launch_it(problem, "wgmma_e4m3_256x128_sm90");
  ASSERT_EQ(launched.size(), 1U);
  EXPECT_TRUE(launched[0].one_scale);
  problem.per_tensor = false;
  launch_it(problem, "wgmma_e4m3_256x128_sm90");
  ASSERT_EQ(launched.size(), 1U);
  EXPECT_FALSE(launched[0].one_scale);
  EXPECT_FALSE(launched[0].fast_sums);
  problem.fast_sums = true;
  launch_it(problem, "wgmma_e4m3_256x128_sm90");
  ASSERT_EQ(launched.size(), 1U);
  EXPECT_TRUE(launched[0].fast_sums);
}

// The pass that reduces the parts reads a scale of each row and column.
TEST_F(WarpgroupLaunches, RepeatOneScaleForPartsOfK) {
  Problem problem = make_problem(128, 512, 16384, DType::e4m3, DType::bf16);
  problem.scale_a = problem.scale_b = problem.per_tensor = true;
  launch_it(problem, "wgmma_e4m3_128x128_sm90");
  ASSERT_EQ(launched.size(), 3U);
  EXPECT_EQ(launched[0].kernel, "repack_4");
  EXPECT_EQ(launched[1].kernel, "wgmma_e4m3_128x128_nt");
  EXPECT_EQ(launched[2].kernel, "reduce_fp32");
}

TEST_F(WarpgroupLaunches, LaunchesPingPongOnEachSm) {
  launch_it(make_problem(4096, 4096, 4096, DType::int8), "wgmma_int8_pingpong_sm90");
  EXPECT_THAT(launched, ElementsAre(are("wgmma_int8_pingpong_nt", 132, true)));
  launch_it(make_problem(4096, 4096, 4096, DType::bf16, Layout::nn), "wgmma_bf16_pingpong_sm90");
  EXPECT_THAT(launched, ElementsAre(are("wgmma_bf16_pingpong_nn", 132, true)));
}

// 2048 bytes of a row to a warp, eight warps to a block.
TEST_F(WarpgroupLaunches, AlignsBothOperandsByOneLaunch) {
  launch_it(make_problem(4096, 2048, 1025, DType::bf16), "wgmma_bf16_128x256_sm90");
  EXPECT_THAT(launched,
              ElementsAre(are("repack_2", (4096 + 2048) * 2 / 8, true), are("wgmma_bf16_128x256_nt", 132, true)));
}

// Squares of 128 bytes by 128.
TEST_F(WarpgroupLaunches, WritesTransposedOperandFirst) {
  launch_it(make_problem(4096, 4096, 4096, DType::int8, Layout::nn), "wgmma_int8_128x256_sm90");
  EXPECT_THAT(launched, ElementsAre(are("repack_1", 32 * 32, true), are("wgmma_int8_128x256_nt", 132, true)));
  launch_it(make_problem(4096, 4096, 4096, DType::tf32, Layout::nn), "wgmma_tf32_128x256_sm90");
  EXPECT_THAT(launched, ElementsAre(are("repack_4", 128 * 128, true), are("wgmma_tf32_128x256_nt", 132, true)));
}

TEST_F(WarpgroupLaunches, PartsAreAddedUpByOneMore) {
  launch_it(make_problem(256, 256, 65536, DType::bf16), "wgmma_bf16_128x256_sm90");
  ASSERT_EQ(launched.size(), 2U);
  EXPECT_THAT(launched[1], are("reduce_fp32", 256, true));
}

// 384 threads in the place of 256: a second warpgroup reads.
TEST_F(WarpgroupLaunches, SmallMReadsUnalignedRowsOfB) {
  launch_it(make_problem(16, 8192, 8191, DType::bf16), "wgmma_bf16_small_m16_sm90");
  EXPECT_THAT(launched,
              ElementsAre(are("repack_2", 16 * 8 / 8, true), are("wgmma_bf16_small_m16_nt_unaligned", 256, true)));
  EXPECT_EQ(launched[1].threads, 384U);
  launch_it(make_problem(16, 8192, 8192, DType::bf16), "wgmma_bf16_small_m16_sm90");
  EXPECT_THAT(launched, ElementsAre(are("wgmma_bf16_small_m16_nt", 128, true)));
  EXPECT_EQ(launched[0].threads, 256U);
}

// If no tensor map names an operand, the plan without the swap runs.
TEST_F(WarpgroupLaunches, FewColumnsAreSmallM) {
  launch_it(make_problem(8192, 8, 2048, DType::bf16), std::nullopt);
  EXPECT_THAT(launched, ElementsAre(are("wgmma_bf16_small_m16_nt", 128, true)));
  launch_it(make_problem(8192, 8, 2048, DType::bf16), std::nullopt, 2);
  ASSERT_FALSE(launched.empty());
  EXPECT_EQ(launched[0].kernel, "gemm_bf16_64x128_nt") << "which awaits what is ahead itself";
  EXPECT_TRUE(launched[0].overlaps);
}

// Operands that no map names are copied first: FP8 with scales of blocks has no other kernel here.
TEST_F(WarpgroupLaunches, HandOnTheScalesOfBlocks) {
  Problem problem = make_problem(4096, 4096, 4096, DType::e4m3, DType::bf16);
  problem.blocks = BlockScale::rows_squares;
  problem.blocks_ldb = 36;
  for (const std::string name : {"wgmma_e4m3_rows_squares_128x128", "wgmma_e4m3_rows_squares_cluster_128x128"}) {
    launch_it(problem, name + "_sm90");
    ASSERT_EQ(launched.size(), 1U);
    EXPECT_EQ(launched[0].kernel, name + "_nt");
    EXPECT_TRUE(launched[0].overlaps);
    EXPECT_EQ(launched[0].scales.a, scales_);
    EXPECT_EQ(launched[0].scales.b, scales_ + 1);
    EXPECT_EQ(launched[0].scales.lda, 4096);
    EXPECT_EQ(launched[0].scales.ldb, 36);
    launch_it(problem, name + "_sm90", 1);
    ASSERT_EQ(launched.size(), 2U);
    EXPECT_EQ(launched[0].kernel, "repack_1");
    EXPECT_EQ(launched[1].kernel, name + "_nt");
    EXPECT_EQ(launched[1].scales.a, scales_);
  }
}

class TmaMmaLaunches : public WarpgroupLaunches {
 protected:
  TmaMmaLaunches() : WarpgroupLaunches("sm120", 170) {}
};

// A block an SM, of four warps that compute and one that copies, which await what is ahead themselves too.
TEST_F(TmaMmaLaunches, AreABlockAnSm) {
  launch_it(make_problem(4096, 4096, 4096, DType::fp16, Layout::nn), "tma_fp16_128x128_sm120");
  EXPECT_THAT(launched, ElementsAre(are("tma_fp16_128x128_nn", 170, true)));
  EXPECT_EQ(launched[0].threads, 160U);
  launch_it(make_problem(4096, 4096, 4096, DType::int8, Layout::nn), "tma_int8_128x128_sm120");
  EXPECT_THAT(launched, ElementsAre(are("repack_1", 32 * 32, true), are("tma_int8_128x128_nt", 170, true)));
}

// Rows that no map can name are copied; threads copy a misaligned operand element by element.
TEST_F(TmaMmaLaunches, ReadWhatMapsName) {
  launch_it(make_problem(4096, 4096, 777, DType::bf16), "tma_bf16_128x128_sm120");
  EXPECT_THAT(launched, ElementsAre(are("repack_2", 1024, true), are("tma_bf16_128x128_nt", 170, true)));
  launch_it(make_problem(4096, 4096, 4096, DType::bf16), "tma_bf16_128x128_sm120", 2);
  EXPECT_THAT(launched, ElementsAre(are("gemm_bf16_128x128_nt", 1024, false)));
}

// If the model predicts equal times, which it takes from Hopper for both, either kernel may be chosen.
TEST_F(TmaMmaLaunches, AreChosenForLargeProblems) {
  launch_it(make_problem(4096, 4096, 4096, DType::bf16), std::nullopt);
  EXPECT_THAT(launched, ElementsAre(are("tma_bf16_128x128_nt", 170, true)));
  launch_it(make_problem(16, 4096, 4096, DType::bf16), std::nullopt);
  ASSERT_FALSE(launched.empty());
  EXPECT_EQ(launched[0].kernel, "gemm_bf16_16x64_nt");
}

// They do not await anything themselves.
TEST_F(WarpgroupLaunches, KernelsOfBlocksBeginWhenAllIsOver) {
  launch_it(make_problem(4096, 4096, 777, DType::e4m3), "gemm_e4m3_128x128_sm90");
  EXPECT_THAT(launched, ElementsAre(are("repack_1", 1024, false), are("gemm_e4m3_128x128_nt", 1024, false)));
}

}  // namespace
}  // namespace pbprobe
