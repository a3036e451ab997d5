// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Problems that no single launch takes: cut on hosts that are passed in, and computed in slices by this CPU.
#include "kernels/dispatch/slices.hpp"

#include <array>
#include <numeric>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/dispatch/run.hpp"
#include "tests/kernels/hosts.hpp"

namespace pbprobe {
namespace {

using testing::HasSubstr;

constexpr int64_t kLong = (int64_t{1} << 30) + 4096;  // elements of two bytes: more than 32 bits count

// Slices do not overlap, and together they are C.
void expect_whole(const std::vector<Slice>& slices, const Problem& p) {
  int64_t elements = 0;
  for (const auto& slice : slices) {
    const auto& part = slice.plan.problem;
    elements += part.m * part.n;
    EXPECT_LE(slice.row + part.m, p.m);
    EXPECT_LE(slice.column + part.n, p.n);
    EXPECT_EQ(part.k, p.k);
    EXPECT_EQ(std::tuple(part.lda, part.ldb, part.ldc), std::tuple(p.lda, p.ldb, p.ldc));
    for (const auto& other : slices) {
      const bool apart = &slice == &other || slice.row + part.m <= other.row ||
                         other.row + other.plan.problem.m <= slice.row || slice.column + part.n <= other.column ||
                         other.column + other.plan.problem.n <= slice.column;
      EXPECT_TRUE(apart);
    }
  }
  EXPECT_EQ(elements, p.m * p.n);
}

class Slices : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!is_built("sm" + digits())) GTEST_SKIP() << "not built: make build TARGETS=sm" << digits();
  }
  [[nodiscard]] std::string digits() const {
    std::string id = GetParam();
    std::erase(id, '.');
    return id;
  }
};

TEST_P(Slices, MakesOneSliceIfLaunchFits) {
  const auto p = make_problem(4096, 4096, 4096, DType::bf16, DType::bf16);
  const auto slices = choose_slices(p, gpu_host(GetParam()), {}, {.gpu = 0});
  ASSERT_TRUE(slices.ok()) << slices.error().message;
  ASSERT_EQ(slices->size(), 1U);
  expect_whole(*slices, p);
}

TEST_P(Slices, RowsOfMoreThan32BitsOfBytesAreCut) {
  for (const auto& p : {make_problem(1, kLong, 1, DType::bf16, DType::bf16, Layout::nn),
                        make_problem(kLong, 1, 1, DType::bf16, DType::bf16, Layout::tn),
                        make_problem(1, int64_t{1} << 32, 1, DType::bf16, DType::bf16, Layout::nn)}) {
    EXPECT_EQ(choose(p, gpu_host(GetParam()), {}, {.gpu = 0}).error().code, ErrorCode::limit);
    const auto slices = choose_slices(p, gpu_host(GetParam()), {}, {.gpu = 0});
    ASSERT_TRUE(slices.ok()) << slices.error().message;
    EXPECT_GT(slices->size(), 1U);
    expect_whole(*slices, p);
  }
}

// FP8 has only tcgen05 kernels, whose grids have fewer tiles.
TEST(SlicesOfFp8, MoreTilesThanAGridHasAreCut) {
  if (!is_built("sm100")) GTEST_SKIP() << "not built: make build TARGETS=sm100";
  const Problem p = make_problem(17'000'000, 128, 128, DType::e4m3);
  const auto slices = choose_slices(p, gpu_host("10.0"), {}, {.gpu = 0});
  ASSERT_TRUE(slices.ok()) << slices.error().message;
  EXPECT_GT(slices->size(), 1U);
  expect_whole(*slices, p);
}

TEST_P(Slices, NeedNoMoreWorkspaceThanTheOperands) {
  const auto p = make_problem(kLong, 8, 1, DType::bf16, DType::bf16, Layout::tn);
  const auto slices = choose_slices(p, gpu_host(GetParam()), {}, {.gpu = 0});
  ASSERT_TRUE(slices.ok()) << slices.error().message;
  const int64_t operands = 2 * (kLong + 8 + 8 * kLong);
  for (const auto& slice : *slices) EXPECT_LE(slice.plan.workspace_bytes, operands);
  expect_whole(*slices, p);
}

TEST_P(Slices, KIsNeverCut) {
  const auto slices = choose_slices(make_problem(5000, 1, kLong, DType::bf16), gpu_host(GetParam()), {}, {.gpu = 0});
  ASSERT_FALSE(slices.ok());
  EXPECT_EQ(slices.error().code, ErrorCode::limit);
  EXPECT_THAT(slices.error().message, HasSubstr("split the GEMM"));
}

INSTANTIATE_TEST_SUITE_P(Gpus, Slices, testing::Values("8.0", "9.0", "10.0", "12.0"));

// Computes by hand, because a CPU's kernels take any size. Small whole numbers give the same sum in every order.
template <class T>
void expect_slices_in_place(const Host& host, DType dtype, Layout layout) {
  Problem p = make_problem(7, 9, 5, dtype, DType::fp32, layout);
  p.bias = p.scale_a = p.scale_b = true;
  std::vector<T> a(35);
  std::vector<T> b(45);
  std::iota(a.begin(), a.end(), T{-17});
  std::iota(b.begin(), b.end(), T{-22});
  std::vector<float> vectors{1, 2, 4, 8, 16, 32, 64, 0.5, 0.25};
  std::vector<float> whole(63, -1);
  std::vector<float> sliced(63, -1);
  const auto compute = [&](int64_t row, int64_t column, int64_t m, int64_t n, std::vector<float>& c) {
    Problem part = p;
    part.m = m;
    part.n = n;
    const auto plan = choose(part, host);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    const Operands all{a.data(), b.data(), c.data(), vectors.data(), vectors.data(), vectors.data()};
    std::vector<std::byte> workspace(static_cast<size_t>(plan->workspace_bytes));
    const auto done = run(*plan, slice_operands({row, column, *plan}, all),
                          {.workspace = workspace.data(), .workspace_bytes = plan->workspace_bytes});
    ASSERT_TRUE(done.ok()) << done.error().message;
  };
  compute(0, 0, 7, 9, whole);
  for (const auto& [row, column, m, n] :
       {std::array<int64_t, 4>{0, 0, 3, 4}, {3, 0, 4, 4}, {0, 4, 3, 5}, {3, 4, 4, 5}}) {
    compute(row, column, m, n, sliced);
  }
  EXPECT_EQ(whole, sliced) << static_cast<int>(layout);
}

// A slice's scales of blocks have the leading dimensions of the whole problem.
TEST(OperandsOf, NamesASlicesScalesOfBlocks) {
  Problem p = make_problem(2048, 2048, 300, DType::e4m3);
  p.blocks = BlockScale::rows_squares;
  p.blocks_lda = 2050;
  p.blocks_ldb = 4;
  std::vector<float> scales(3 * 2050);
  Plan plan;
  plan.problem = p;
  plan.problem.m = plan.problem.n = 1024;
  Operands whole;
  whole.blocks_a = whole.blocks_b = scales.data();
  const auto part = slice_operands({1024, 1024, plan}, whole);
  EXPECT_EQ(static_cast<const float*>(part.blocks_a) - scales.data(), 1024);
  EXPECT_EQ(static_cast<const float*>(part.blocks_b) - scales.data(), 1024 / 128 * 4);
}

TEST(OperandsOf, NamesASlicesPlaceInEveryLayout) {
  const auto host = detect_host(system_sources());
  ASSERT_TRUE(host.ok());
  int ran = 0;  // a build for one old ISA has no kernel of int8
  for (const auto layout : {Layout::nt, Layout::nn, Layout::tn, Layout::tt}) {
    for (const auto dtype : {DType::int8, DType::fp32}) {
      if (!choose(make_problem(7, 9, 5, dtype, DType::fp32, layout), *host).ok()) continue;
      ++ran;
      if (dtype == DType::int8) {
        expect_slices_in_place<int8_t>(*host, dtype, layout);
      } else {
        expect_slices_in_place<float>(*host, dtype, layout);
      }
    }
  }
  if (ran == 0) GTEST_SKIP() << "no kernel that is built runs on this CPU";
  EXPECT_GE(ran, 4);
}

}  // namespace
}  // namespace pbprobe
