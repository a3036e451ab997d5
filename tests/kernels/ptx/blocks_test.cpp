// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests the block-scaled kernels of SM120 and SM121 without a GPU. run() launches them on a driver that runs the
// kernel's PTX in an interpreter, with a scalar model of mma.sync's block scaling (collectives.cpp). The checker
// compares every bit. That proves addresses, swizzles, edges, scales, waits and the host's part; not ptxas, nor the
// chip.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/block_scales.hpp"
#include "kernels/dispatch/choose.hpp"
#include "kernels/gemm/reference.hpp"
#include "tests/kernels/ptx/launches.hpp"
#include "tests/kernels/tcgen05.hpp"

namespace pbprobe {
namespace {

using testing::HasSubstr;

class Blocks : public ptx::InterpretedKernels, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override { load(GetParam(), "blocks", 12, GetParam() == "sm121" ? 1 : 0); }
};

TEST_P(Blocks, AreRightAtEveryEdge) {
  expect_right_at_edges(5);
}

TEST_P(Blocks, AreRightBeyondATileOfScales) {
  for (const Kernel* kernel : kernels()) {
    if (kernel->tile.m == 128) continue;  // the others are in tiles of scales that their own do not begin
    expect_right(*kernel, make_launch_problem(*kernel, 150, 300, 200));
    if (HasFailure()) return;
  }
}

TEST_P(Blocks, AreRightInEveryLayoutTypeAndPart) {
  for (const Kernel* kernel : kernels()) {
    if (kernel->tile.m == 128) continue;
    for (const Layout layout : {Layout::nt, Layout::nn, Layout::tn, Layout::tt}) {
      Problem problem = make_problem(std::min<int64_t>(33, kernel->max_m), 65, 160, kernel->dtype, DType::bf16, layout);
      problem.blocks = kernel->block_scale;
      problem.lda += 3;
      problem.ldb += 16;
      problem.ldc += 1;
      problem.bias = layout != Layout::nt;
      problem.scale_a = problem.scale_b = layout != Layout::nn;
      problem.per_tensor = layout == Layout::tt;
      expect_right(*kernel, problem, 1, layout == Layout::tn ? 1 : 0);
      if (HasFailure()) return;
    }
    expect_right(*kernel, make_launch_problem(*kernel, 40, 70, 900, DType::fp16), 3);
    if (writes_c_nm(*kernel)) {
      Problem problem = make_launch_problem(*kernel, 13, 70, 160, DType::bf16);
      problem.c_is_nm = problem.bias = true;
      problem.ldc = problem.m + 1;
      expect_right(*kernel, problem);
    }
    if (HasFailure()) return;
  }
}

TEST_P(Blocks, HaveProofsOfTheirInstructions) {
  EXPECT_EQ(expect_proofs(), 4);
}

// The planted faults give wrong results, or faults of the machine.
TEST_P(Blocks, FailWhereAnIndexIsWrong) {
  const Kernel& kernel = *find_kernel("gemm_mx_e4m3_64x64_" + target_);
  const std::string symbol = "gemm_mx_e4m3_64x64_nt";
  const Problem problem = make_launch_problem(kernel, 64, 64, 256);
  expect_right(kernel, problem);
  const auto passes = [&](const std::string& what, const std::string& instead) {
    return passes_after_edit(what, instead, symbol, kernel, problem);
  };
  EXPECT_FALSE(passes("\\{1, 1\\}, ", "{1, 0}, ")) << "thread-id-a";
  EXPECT_FALSE(passes(", \\{2, 3\\};", ", {2, 2};")) << "thread-id-b";
  EXPECT_FALSE(passes(", \\{3, 0\\}, ", ", {2, 0}, ")) << "byte-id-a";
  EXPECT_FALSE(passes("cp.async.wait_group 1;", "cp.async.wait_group 2;")) << "a wait";
  EXPECT_FALSE(passes(", 512;", ", 516;")) << "the next word of a row's scales";
}

TEST_P(Blocks, RefuseWhatTheyCannotMultiply) {
  const Host host = test::make_tcgen05_host(target_);
  ChooseOptions options{.gpu = 0};
  Problem plain = make_problem(64, 64, 64, DType::e2m1x2);
  auto plan = choose(plain, host, {}, options);
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().message, HasSubstr("e2m1x2 takes mx or nvfp4"));
  Problem mx = make_problem(64, 64, 64, DType::e4m3);
  mx.blocks = BlockScale::mx;
  plan = choose(mx, host, {}, options);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_THAT(std::string(plan->kernel->name), HasSubstr("gemm_mx_e4m3"));
  plan = choose(mx, test::make_tcgen05_host("sm90", 132), {}, options);
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().message, HasSubstr("the kernel's machine code is for compute capability 12.0"));
  mx.blocks = BlockScale::none;
  plan = choose(mx, host, {}, options);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(std::string(plan->kernel->name), testing::StartsWith("gemm_e4m3"));
}

INSTANTIATE_TEST_SUITE_P(Targets, Blocks, testing::Values("sm120", "sm121"),
                         [](const testing::TestParamInfo<std::string>& one) { return one.param; });

// The index functions of the kernels and of the reference, which was written from cuBLAS's documentation, agree for
// every row and block.
TEST(BlockScales, FollowCublasltLayout) {
  Problem problem = make_problem(300, 1, 32 * 37, DType::e4m3);
  problem.blocks = BlockScale::mx;
  std::vector<bool> seen(static_cast<size_t>(block_scale_bytes(problem, 300)));
  for (int64_t row = 0; row < 300; ++row) {
    for (int64_t block = 0; block < 37; ++block) {
      const int64_t place = place_of_scale(problem, row, block);
      EXPECT_EQ(place, scale_word_offset(row, block / 4, 10) + block % 4) << row << ", " << block;
      EXPECT_FALSE(seen.at(static_cast<size_t>(place))) << row << ", " << block;
      seen[static_cast<size_t>(place)] = true;
    }
  }
}

}  // namespace
}  // namespace pbprobe
