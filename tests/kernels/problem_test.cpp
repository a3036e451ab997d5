// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/gemm/problem.hpp"

#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pbprobe {
namespace {

using testing::HasSubstr;

std::string refusal(const Problem& problem) {
  const auto result = validate(problem);
  if (result.ok()) return "accepted";
  EXPECT_EQ(result.error().code, ErrorCode::usage);
  return result.error().message;
}

TEST(Problem, LayoutsSayHowOperandsLie) {
  const auto p = make_problem(3, 5, 7, DType::fp32, Layout::nt);
  EXPECT_EQ(p.lda, 7);
  EXPECT_EQ(p.ldb, 7);
  EXPECT_EQ(p.ldc, 5);
  const auto q = make_problem(3, 5, 7, DType::fp32, Layout::tn);
  EXPECT_EQ(q.lda, 3);
  EXPECT_EQ(q.ldb, 5);
}

TEST(Problem, DefaultsGiveTheUnroundedResult) {
  EXPECT_EQ(make_problem(1, 1, 1, DType::bf16).c, DType::fp32);
  const auto p = make_problem(1, 1, 1, DType::uint8);
  EXPECT_EQ(p.b, DType::int8);
  EXPECT_EQ(p.accumulator, DType::int32);
  EXPECT_EQ(p.c, DType::int32);
}

TEST(Problem, EmptySizesAreFine) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{0, 5, 5}, {5, 0, 5}, {5, 5, 0}, {0, 0, 0}}) {
    EXPECT_TRUE(validate(make_problem(m, n, k, DType::fp32)).ok());
  }
}

TEST(Problem, RefusesNegativeSizes) {
  EXPECT_THAT(refusal(make_problem(-1, 2, 2, DType::fp32)), HasSubstr("negative (m -1, n 2, k 2, nt"));
  auto p = make_problem(1, 1, 1, DType::fp32);
  p.lda = -4;
  EXPECT_THAT(refusal(p), HasSubstr("leading dimension of A is -4"));
}

TEST(Problem, RefusesALeadingDimensionShorterThanARow) {
  auto p = make_problem(4, 5, 6, DType::fp32);
  p.lda = 5;
  EXPECT_THAT(refusal(p), HasSubstr("lda is 5, but a stored row of A has 6"));
  p = make_problem(4, 5, 6, DType::fp32, Layout::nn);
  p.ldb = 4;
  EXPECT_THAT(refusal(p), HasSubstr("ldb is 4, but a stored row of B has 5"));
  p = make_problem(4, 5, 6, DType::fp32);
  p.ldc = 3;
  EXPECT_THAT(refusal(p), HasSubstr("ldc is 3, but a stored row of C has 5"));
  p = make_problem(1, 5, 6, DType::fp32);
  p.lda = 0;  // a single row needs none
  EXPECT_EQ(refusal(p), "accepted");
}

// 300 rows and k = 500 have four blocks of k: scales of rows are stored as [4, 300], scales of squares as [3, 4].
TEST(Problem, Fp32ScalesOfBlocksLieByBlocksOfKOrByRowsOfSquares) {
  auto p = make_problem(300, 300, 500, DType::e4m3);
  p.blocks = BlockScale::rows_squares;
  p.blocks_ldb = 8;
  EXPECT_EQ(refusal(p), "accepted");
  EXPECT_EQ(block_bytes_a(p), 4 * 300 * 4);
  EXPECT_EQ(block_bytes_b(p), (2 * 8 + 4) * 4);
  EXPECT_EQ(place_in(block_rows_a(p), 299, 3), 3 * 300 + 299);
  EXPECT_EQ(place_in(block_rows_b(p), 299, 3), 2 * 8 + 3);
  p.blocks_lda = 299;
  EXPECT_THAT(refusal(p), HasSubstr("a stored row of A's block scales has 300 scales, but rows are 299 scales apart"));
  p.blocks = BlockScale::squares_rows;
  p.blocks_lda = 4;
  EXPECT_THAT(refusal(p), HasSubstr("a stored row of B's block scales has 300 scales, but rows are 8 scales apart"));
  p = make_problem(300, 300, 500, DType::bf16);
  p.blocks = BlockScale::rows_rows;
  EXPECT_THAT(refusal(p), HasSubstr("bf16 does not go with block scales \"1x128_1x128\""));
}

TEST(Problem, RefusesSizesThatOverflow) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  EXPECT_THAT(refusal(make_problem(kHuge, 4, 4, DType::fp32)), HasSubstr("exceeds 2^63 bytes"));
  EXPECT_THAT(refusal(make_problem(4, 4, std::numeric_limits<int64_t>::max(), DType::int8)), HasSubstr("2^63 bytes"));
  // A and B would fit, C would not.
  auto p = make_problem(int64_t{1} << 32, int64_t{1} << 31, 0, DType::int8);
  EXPECT_THAT(refusal(p), HasSubstr("C of"));
  // No sum on the way overflows either.
  p = make_problem(std::numeric_limits<int64_t>::max(), 0, 0, DType::e4m3);
  p.blocks = BlockScale::squares_rows;
  EXPECT_EQ(block_rows_a(p).rows, int64_t{1} << 56);
  EXPECT_EQ(refusal(p), "accepted");
}

TEST(Problem, RefusesTypesThatDoNotCombine) {
  auto p = make_problem(2, 2, 2, DType::bf16);
  p.b = DType::fp16;
  EXPECT_THAT(refusal(p), HasSubstr("no GEMM of these types"));
  p = make_problem(2, 2, 2, DType::int8);
  p.b = DType::uint8;
  EXPECT_THAT(refusal(p), HasSubstr("no GEMM of these types"));
  p = make_problem(2, 2, 2, DType::int8);
  p.scale_a = true;
  EXPECT_THAT(refusal(p), HasSubstr("int32 result takes no scale"));
}

struct Memory {
  std::vector<float> a = std::vector<float>(64);
  std::vector<float> b = std::vector<float>(64);
  std::vector<float> c = std::vector<float>(64);
  Operands operands() {
    Operands o;
    o.a = a.data();
    o.b = b.data();
    o.c = c.data();
    return o;
  }
};

std::string refusal(const Problem& problem, const Operands& operands) {
  const auto result = validate(problem, operands);
  return result.ok() ? "accepted" : result.error().message;
}

TEST(Operands, RefusesNullOnlyWhereSomethingIsRead) {
  Memory memory;
  const auto p = make_problem(4, 4, 4, DType::fp32);
  auto o = memory.operands();
  EXPECT_EQ(refusal(p, o), "accepted");
  o.b = nullptr;
  EXPECT_THAT(refusal(p, o), HasSubstr("B is a null pointer, and 64 bytes are needed"));
  EXPECT_EQ(refusal(make_problem(4, 4, 0, DType::fp32), o), "accepted");
  EXPECT_EQ(refusal(make_problem(0, 4, 4, DType::fp32), Operands{}), "accepted");
  auto with_bias = p;
  with_bias.bias = true;
  EXPECT_THAT(refusal(with_bias, memory.operands()), HasSubstr("bias is a null pointer, and 16 bytes"));
}

TEST(Operands, RefusesPointersThatCutAnElement) {
  Memory memory;
  auto o = memory.operands();
  o.a = reinterpret_cast<const char*>(memory.a.data()) + 2;
  EXPECT_THAT(refusal(make_problem(2, 2, 2, DType::fp32), o), HasSubstr("not aligned to its elements of 4 bytes"));
}

TEST(Operands, RefusesAnOverlappingResult) {
  Memory memory;
  auto o = memory.operands();
  const auto p = make_problem(4, 4, 4, DType::fp32);
  o.c = memory.a.data() + 15;
  EXPECT_THAT(refusal(p, o), HasSubstr("C overlaps A"));
  o.c = memory.a.data() + 16;
  EXPECT_EQ(refusal(p, o), "accepted");
  o.c = memory.b.data();
  EXPECT_THAT(refusal(p, o), HasSubstr("C overlaps B"));
}

}  // namespace
}  // namespace pbprobe
