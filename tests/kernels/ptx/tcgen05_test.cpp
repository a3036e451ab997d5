// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests the block-scaled kernels of tcgen05 without a GPU, as blocks_test.cpp tests the mma.sync kernels. Copies by
// tensor maps, multiplications and scales in tensor memory happen at any moment after they were issued
// (asynchronous.cpp, tensor_memory.cpp); two blocks of a cluster run together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/block_scales.hpp"
#include "kernels/cuda/host/tcgen05.hpp"
#include "kernels/dispatch/choose.hpp"
#include "tests/kernels/ptx/launches.hpp"
#include "tests/kernels/tcgen05.hpp"

namespace pbprobe {
namespace {

using testing::HasSubstr;

class Tcgen05Blocks : public ptx::InterpretedKernels {
 protected:
  void SetUp() override { load("sm100", "tcgen05", 10, 0); }
};

TEST_F(Tcgen05Blocks, AreRightAtEveryEdge) {
  ASSERT_EQ(kernels().size(), 8U);
  expect_right_at_edges(11);
}

// Tiles that a cluster takes over from those that have not begun.
TEST_F(Tcgen05Blocks, AreRightInManyTiles) {
  for (const Kernel* kernel : kernels()) {
    expect_right(*kernel,
                 make_launch_problem(*kernel, 3 * kernel->tile.m - 7, 4 * kernel->tile.n + 3, 208, DType::bf16));
    if (HasFailure()) return;
  }
}

TEST_F(Tcgen05Blocks, AreRightInEveryLayoutAndType) {
  for (const Kernel* kernel : kernels()) {
    for (const Layout layout : {Layout::nt, Layout::nn, Layout::tn, Layout::tt}) {
      Problem problem = make_problem(33, 65, 160, kernel->dtype, DType::bf16, layout);
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
    expect_right(*kernel, make_launch_problem(*kernel, 140, 70, 900, DType::fp16));
    if (HasFailure()) return;
  }
}

// Log-uniform shapes, whose k ends anywhere in a stage.
TEST_F(Tcgen05Blocks, AreRightOnRandomShapes) {
  uint32_t seed = 2026;
  const auto size = [&](int bits) {
    seed = seed * 1664525U + 1013904223U;
    const uint32_t most = 1U << (seed >> 16) % static_cast<unsigned>(bits + 1);
    seed = seed * 1664525U + 1013904223U;
    return int64_t{1} + (seed >> 8) % most;
  };
  for (const Kernel* kernel : kernels()) {
    for (int i = 0; i < 12; ++i) {
      const int64_t m = size(9);
      const int64_t n = size(9);
      expect_right(*kernel, make_launch_problem(*kernel, m, n, size(11), i % 2 == 0 ? DType::fp32 : DType::bf16));
      if (HasFailure()) return;
    }
  }
}

TEST_F(Tcgen05Blocks, HaveProofsOfTheirInstructions) {
  EXPECT_EQ(expect_proofs(), 10) << "including the proofs of plain types";
}

// Scales behind k are not multiplied, whatever the padding holds: the pass copies scales without padding, if k has any.
TEST_F(Tcgen05Blocks, TrimScalesWhereKHasNoWholeWordsOfThem) {
  const Kernel& kernel = *find_kernel("tcgen05_nv_e2m1_128x128_sm100");
  for (const auto& [k, trims] : {std::pair<int64_t, bool>{8 * 4 * 3, false}, {8 * 4 * 3 + 8, true}, {16, true}}) {
    ptx::machine.launched.clear();
    expect_right(kernel, make_launch_problem(kernel, 20, 140, k));
    EXPECT_EQ(std::count(ptx::machine.launched.begin(), ptx::machine.launched.end(), kTrimScales) > 0, trims) << k;
  }
  const Problem problem = make_launch_problem(kernel, 20, 140, 16);
  EXPECT_FALSE(passes_after_edit("and.b32", "or.b32", std::string(kTrimScales), kernel, problem));
}

// The planted faults give wrong results, or faults of the machine.
TEST_F(Tcgen05Blocks, FailWhereAnIndexIsWrong) {
  struct Planted {
    const char* what;
    const char* instead;
    const char* why;
  };
  const Planted of_all[] = {
      {"(tcgen05.mma.*), \\[(%r[0-9]+)\\], \\[(%r[0-9]+)\\], p", "$1, [$3], [$2], p", "scales of A and B exchanged"},
      {"(tcgen05.mma.* \\[%r[0-9]+\\]), (%rd[0-9]+), (%rd[0-9]+)", "$1, $3, $2", "operands exchanged"},
      {"setp.ne.b32 p, (%r[0-9]+), 0", "setp.eq.b32 p, $1, $1", "the first step adds the old accumulator"},
      {"arrive.expect_tx.(shared::[a-z]+).b64 *_, \\[(.+)\\], %r[0-9]+;", "arrive.$1.b64 _, [$2];",
       "copies that are not announced"},
      {"tcgen05.cp.cta_group::([12])", "tcgen05.fence::after_thread_sync; //", "scales are not copied"},
      {"(mbarrier.try_wait[^;]*;) *\n(\t@P1 bra DONE;) *\n\tbra *LAB_WAIT;", "$1\n$2\n", "a wait that gives up"},
  };
  for (const char* name : {"tcgen05_mx_e4m3_128x128", "tcgen05_nv_e2m1_256x128"}) {
    const Kernel& kernel = *find_kernel(std::string(name) + "_sm100");
    const Problem problem = make_launch_problem(kernel, kernel.tile.m, 128, 1536);
    expect_right(kernel, problem);
    for (const auto& [what, instead, why] : of_all)
      EXPECT_FALSE(passes_after_edit(what, instead, std::string(name) + "_nt", kernel, problem)) << name << ": " << why;
  }
  const Kernel& kernel = *find_kernel("tcgen05_mx_e4m3_256x128_sm100");
  const Problem problem = make_launch_problem(kernel, 256, 128, 1536);
  expect_right(kernel, problem);
  const Kernel& nv = *find_kernel("tcgen05_nv_e2m1_128x128_sm100");
  EXPECT_FALSE(passes_after_edit("(add.s32 \t%r[0-9]+, %r[0-9]+), 96;", "$1, 64;", "tcgen05_nv_e2m1_128x128_nt", nv,
                                 make_launch_problem(nv, 128, 128, 1536)))
      << "the third word of scales for the fourth";
  EXPECT_FALSE(passes_after_edit(", 24576;", ", 8192;", "tcgen05_mx_e4m3_256x128_nt", kernel, problem)) << "a scale-id";
  EXPECT_FALSE(
      passes_after_edit("cta_group::2.32x128b", "cta_group::1.32x128b", "tcgen05_mx_e4m3_256x128_nt", kernel, problem))
      << "scales of one block only";
}

TEST_F(Tcgen05Blocks, AreChosenByTheScalesOfAProblem) {
  const Host host = test::make_tcgen05_host("sm100");
  for (const auto& [type, blocks, kernel] : {std::tuple{DType::e4m3, BlockScale::mx, "tcgen05_mx_e4m3_256x128_sm100"},
                                             {DType::e5m2, BlockScale::mx, "tcgen05_mx_e5m2_256x128_sm100"},
                                             {DType::e2m1x2, BlockScale::mx, "tcgen05_mx_e2m1_256x128_sm100"},
                                             {DType::e2m1x2, BlockScale::nvfp4, "tcgen05_nv_e2m1_256x128_sm100"},
                                             {DType::e4m3, BlockScale::none, "tcgen05_e4m3_256x128_sm100"}}) {
    Problem problem = make_problem(4096, 4096, 4096, type);
    problem.blocks = blocks;
    const auto plan = choose(problem, host, {}, {.gpu = 0});
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->kernel->name, kernel);
  }
  const auto plain = choose(make_problem(64, 64, 64, DType::e2m1x2), host, {}, {.gpu = 0});
  ASSERT_FALSE(plain.ok());
  EXPECT_THAT(plain.error().message, HasSubstr("e2m1x2 takes mx or nvfp4"));
}

}  // namespace
}  // namespace pbprobe
