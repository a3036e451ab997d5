// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/kernels/verify.hpp"

#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/gemm/reference.hpp"
#include "probes/measure/kernels/operands.hpp"

namespace pbprobe {
namespace {

using testing::HasSubstr;

// Operands of a problem with the right GEMM in C, made by plain sums.
class SpotCheck : public testing::TestWithParam<std::pair<DType, Layout>> {
 protected:
  void SetUp() override {
    make();
    const Rotation rotation = plan_rotation(problem_, 0, 1);
    memory_.resize(rotation.bytes());
    ASSERT_TRUE(fill_operands(problem_, rotation, [&](size_t offset, const void* bytes, size_t count) {
                  std::memcpy(memory_.data() + offset, bytes, count);
                  return Result<void>();
                }).ok());
    operands_ = rotation.operands(memory_.data(), 0);
    poison(problem_, operands_.c);
    const Reference reference(problem_, operands_);
    for (int64_t i = 0; i < problem_.m; ++i) {
      const ReferenceRow row = reference.row(i);
      for (int64_t j = 0; j < problem_.n; ++j) set(i, j, row.value[static_cast<size_t>(j)]);
    }
  }
  virtual void make() {
    const auto [type, layout] = GetParam();
    problem_ = make_problem(61, 53, 128, type, layout);
  }
  void set(int64_t i, int64_t j, double value) { set_element(operands_.c, problem_.c, i * problem_.ldc + j, value); }
  [[nodiscard]] double at(int64_t i, int64_t j) const { return element(operands_.c, problem_.c, i * problem_.ldc + j); }
  [[nodiscard]] std::string fault() const {
    auto result = spot_check(problem_, operands_);
    return result.ok() ? "" : result.error().message;
  }

  Problem problem_;
  std::vector<std::byte> memory_;
  Operands operands_;
};

TEST_P(SpotCheck, PassesCorrectGemm) {
  EXPECT_EQ(fault(), "");
}

TEST_P(SpotCheck, FindsWrongCorner) {
  set(60, 52, at(60, 52) + 1);
  EXPECT_THAT(fault(), HasSubstr("C[60,52] is "));
}

TEST_P(SpotCheck, FindsDroppedLastProduct) {
  const Problem shorter = [&] {
    Problem p = problem_;
    --p.k;
    return p;
  }();
  const Reference reference(shorter, operands_);
  for (int64_t i = 0; i < problem_.m; ++i) {
    const ReferenceRow row = reference.row(i);
    for (int64_t j = 0; j < problem_.n; ++j) set(i, j, row.value[static_cast<size_t>(j)]);
  }
  EXPECT_NE(fault(), "");
}

INSTANTIATE_TEST_SUITE_P(All, SpotCheck,
                         testing::Values(std::pair{DType::fp32, Layout::nt}, std::pair{DType::fp32, Layout::tn},
                                         std::pair{DType::bf16, Layout::nn}, std::pair{DType::fp16, Layout::tt},
                                         std::pair{DType::int8, Layout::nt}, std::pair{DType::int8, Layout::tn}));

// Operands with scales of blocks, and what each of these gives a wrong sum.
class BlockSpotCheck : public SpotCheck {
 protected:
  void SetUp() override {}
  void begin(DType type, BlockScale blocks) {
    problem_ = make_problem(61, 53, 320 / numbers_in(type), type);
    problem_.blocks = blocks;
    SpotCheck::SetUp();
  }
  void make() override {}
  // C again, with one of B's scales changed behind its back: by so much its code, or twice or half an FP32.
  void change(int64_t line, int64_t block, int octave) {
    if (are_fp32(problem_.blocks)) {
      auto* const scales = static_cast<float*>(const_cast<void*>(operands_.blocks_b));
      scales[place_in(block_rows_b(problem_), line, block)] *= octave > 0 ? 2.0F : 0.5F;
      return;
    }
    auto* const codes = static_cast<uint8_t*>(const_cast<void*>(operands_.blocks_b));
    codes[place_of_scale(problem_, line, block)] += static_cast<uint8_t>(octave);
  }
};

TEST_F(BlockSpotCheck, HoldsCAgainstTheScaleOfEachBlock) {
  for (const auto& [type, blocks] :
       {std::pair{DType::e4m3, BlockScale::mx}, std::pair{DType::e5m2, BlockScale::mx},
        std::pair{DType::e2m1x2, BlockScale::mx}, std::pair{DType::e2m1x2, BlockScale::nvfp4},
        std::pair{DType::e4m3, BlockScale::rows_squares}, std::pair{DType::e5m2, BlockScale::rows_rows}}) {
    begin(type, blocks);
    EXPECT_EQ(fault(), "") << name_of(type);
    const int octave = blocks == BlockScale::mx ? 1 : 8;
    const int64_t last = blocks_along_k(problem_) - 1;
    change(52, last, octave);
    // A square is of all columns.
    EXPECT_THAT(fault(), HasSubstr(blocks == BlockScale::rows_squares ? "C[0,0] is " : ",52] is ")) << name_of(type);
    change(52, last, -octave);
    EXPECT_EQ(fault(), "") << name_of(type);
  }
}

// -1 in INT32 is a number: there the checker's own poison finds it.
class FloatSpotCheck : public SpotCheck {};

TEST_P(FloatSpotCheck, FindsUnwrittenElement) {
  const int64_t i = 30;
  const int64_t j = 29;
  std::memset(static_cast<std::byte*>(operands_.c) + (i * problem_.ldc + j) * size_of(problem_.c), 0xff,
              static_cast<size_t>(size_of(problem_.c)));
  EXPECT_THAT(fault(), HasSubstr("C[30,29]"));
}

INSTANTIATE_TEST_SUITE_P(All, FloatSpotCheck,
                         testing::Values(std::pair{DType::fp32, Layout::nt}, std::pair{DType::bf16, Layout::tn}));

// Sums of INT32 are exact; what their scaling and rounding to BF16 add is allowed, and no more.
class ScaledSpotCheck : public SpotCheck {
 protected:
  void make() override {
    SpotCheck::make();
    problem_.c = DType::bf16;
    problem_.scale_a = problem_.scale_b = true;
  }
};

TEST_P(ScaledSpotCheck, ScalesAndRoundingAreAllowedFor) {
  EXPECT_EQ(fault(), "");
  set(60, 52, at(60, 52) * 1.02);
  EXPECT_THAT(fault(), HasSubstr("C[60,52] is "));
}

INSTANTIATE_TEST_SUITE_P(All, ScaledSpotCheck, testing::Values(std::pair{DType::int8, Layout::nt}));

// INT32 has no mark of unwritten elements, and column 1 is not compared with its sum.
TEST_P(SpotCheck, FindsUnwrittenColumn) {
  if (problem_.c != DType::int32) GTEST_SKIP() << "NaN says it";
  for (int64_t i = 0; i < problem_.m; ++i) set(i, 1, -1);
  EXPECT_THAT(fault(), HasSubstr(" C is wrong in some element"));
}

// 2^-13 · 2^-10 and a little more: FP16 rounds it to two of its least number.
TEST(SpotCheckOfFp16, RoundsSubnormalResultToGrid) {
  const Problem p = make_problem(1, 1, 1, DType::fp16, DType::fp16);
  const uint16_t a = 0x0801;
  const uint16_t b = 0x1401;
  uint16_t c = 2;
  const Operands operands{.a = &a, .b = &b, .c = &c};
  EXPECT_TRUE(spot_check(p, operands).ok());
  c = 3;
  EXPECT_FALSE(spot_check(p, operands).ok());
}

TEST(CheckProblem, ReturnsSmallProblemUnchanged) {
  const Plan plan{.kernel = find_kernel("gemm_fp32_6x16_avx2"),
                  .problem = make_problem(100, 101, 102, DType::fp32),
                  .tile = {6, 16, 1}};
  EXPECT_EQ(check_problem(plan).n, 101);
  EXPECT_EQ(check_problem(plan).k, 102);
}

TEST(CheckProblem, KeepsRaggedRestAndTwoPasses) {
  const Kernel* const kernel = find_kernel("gemm_fp32_6x16_avx2");
  ASSERT_NE(kernel, nullptr);
  const Plan plan{
      .kernel = kernel, .problem = make_problem(1000, 1003, 2005, DType::fp32, Layout::tt), .tile = {6, 16, 1}};
  const Problem small = check_problem(plan);
  EXPECT_EQ(small.m, 12 + 1000 % 6);
  EXPECT_EQ(small.n, 32 + 1003 % 16);
  EXPECT_GT(small.k, kernel->k_block);
  EXPECT_EQ(small.k % 16, 2005 % 16);
  EXPECT_EQ(small.layout, Layout::tt);
  EXPECT_TRUE(validate(small).ok());
}

}  // namespace
}  // namespace pbprobe
