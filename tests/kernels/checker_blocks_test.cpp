// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The checker with scales of blocks: what is right passes, and each planted fault of an index is caught.
#include <algorithm>
#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/gemm/checker.hpp"
#include "kernels/gemm/reference.hpp"

namespace pbprobe {
namespace {

CheckResult checked(const Problem& problem, const Execute& execute) {
  auto result = check(problem, execute);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? *result : CheckResult{};
}

Problem make_block_problem(int64_t m, int64_t n, int64_t k, DType type, BlockScale blocks) {
  Problem problem = make_problem(m, n, k, type);
  problem.blocks = blocks;
  return problem;
}

// Sums by their definition, element by element.
Result<void> scaled_sums(const Problem& p, CheckData& data) {
  const Operands o = data.operands();
  const int64_t numbers = numbers_in(p.a);
  const int64_t length = p.blocks == BlockScale::mx ? 32 : 16;
  const auto scale = [&](const void* scales, int64_t line, int64_t number) {
    const int64_t block = number / length;
    const int64_t tiles = ((p.k * numbers + length - 1) / length + 3) / 4;
    const int64_t at = (line / 128 * tiles + block / 4) * 512 + line % 32 * 16 + line / 32 % 4 * 4 + block % 4;
    return block_scale(p.blocks, static_cast<const uint8_t*>(scales)[at]);
  };
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < p.k * numbers; ++l) {
        const double a = element(o.a, p.a, i * p.lda * numbers + l) * scale(o.blocks_a, i, l);
        const double b = element(o.b, p.b, j * p.ldb * numbers + l) * scale(o.blocks_b, j, l);
        sum += static_cast<float>(a * b);
      }
      set_element(o.c, p.c, i * p.ldc + j, static_cast<double>(sum));
    }
  }
  return {};
}

TEST(Checker, HoldsBlockScaledProductsToTheirScales) {
  const std::array<std::pair<DType, BlockScale>, 4> all{{{DType::e4m3, BlockScale::mx},
                                                         {DType::e5m2, BlockScale::mx},
                                                         {DType::e2m1x2, BlockScale::mx},
                                                         {DType::e2m1x2, BlockScale::nvfp4}}};
  for (const auto& [type, blocks] : all) {
    const Problem problem = make_block_problem(140, 5, 200, type, blocks);
    const auto right = checked(problem, scaled_sums);
    EXPECT_TRUE(right.passed) << right.what;
    // Wrong scale of one block of one row, or wrong padding behind k.
    for (const bool of_b : {false, true}) {
      const auto wrong = [&](const Problem& p, CheckData& data) -> Result<void> {
        Guarded& scales = of_b ? data.blocks_b : data.blocks_a;
        std::byte& code = scales.data()[place_of_scale(p, of_b ? 3 : 133, 2)];
        code = std::byte{static_cast<uint8_t>(static_cast<uint8_t>(code) ^ 8U)};
        return scaled_sums(p, data);
      };
      const auto result = check(problem, Tier::exact, [&](const Problem& p, CheckData& data) -> Result<void> {
        const CheckData before = data;
        PBPROBE_CHECK(wrong(p, data));
        data.blocks_a = before.blocks_a;
        data.blocks_b = before.blocks_b;
        return {};
      });
      ASSERT_TRUE(result.ok());
      EXPECT_FALSE(result->passed) << name_of(type) << ", " << name_of(blocks);
    }
  }
}

// Possible faults of a kernel that reads scales of blocks of 128: wrong row, wrong block of k, wrong column.
struct BlockFaults {
  int64_t row = 0;
  int64_t block = 0;
  int64_t column = 0;
  int64_t length = 128;  // length of a block of k
};

// Computes by definition: sums of 128 products, each times its scales. Each index that a fault moves stays within the
// array.
Execute sums_of_128(BlockFaults faults = {}) {
  return [faults](const Problem& p, CheckData& data) -> Result<void> {
    const Operands o = data.operands();
    const int64_t blocks = (p.k + 127) / 128;
    const auto* scales_a = static_cast<const float*>(o.blocks_a);
    const auto* scales_b = static_cast<const float*>(o.blocks_b);
    const auto scale_of = [&](const float* scales, bool squares, int64_t leading, int64_t line, int64_t block) {
      return squares ? scales[line / 128 * leading + block] : scales[block * leading + line];
    };
    const auto numbers = [&](const void* from, int64_t lines, int64_t leading) {
      std::vector<float> all;
      for (int64_t line = 0; line < lines; ++line)
        for (int64_t l = 0; l < p.k; ++l) all.push_back(static_cast<float>(element(from, p.a, line * leading + l)));
      return all;
    };
    const std::vector<float> a = numbers(o.a, p.m, p.lda);
    const std::vector<float> b = numbers(o.b, p.n, p.ldb);
    const bool squares_a = p.blocks == BlockScale::squares_rows;
    const bool squares_b = p.blocks == BlockScale::rows_squares;
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        float sum = 0;
        for (int64_t first = 0; first < p.k; first += faults.length) {
          float part = 0;
          for (int64_t l = first; l < std::min(first + faults.length, p.k); ++l) {
            part += a[static_cast<size_t>(i * p.k + l)] * b[static_cast<size_t>(j * p.k + l)];
          }
          const int64_t block = std::min(first / 128 + faults.block, blocks - 1);
          const float of_a = scale_of(scales_a, squares_a, p.blocks_lda, std::min(i + faults.row, p.m - 1), block);
          const float of_b = scale_of(scales_b, squares_b, p.blocks_ldb, std::min(j + faults.column, p.n - 1), block);
          sum += part * (of_a * of_b);
        }
        set_element(o.c, p.c, i * p.ldc + j, static_cast<double>(sum));
      }
    }
    return {};
  };
}

TEST(Checker, HoldsScalesOfBlocksOf128ToTheirRowsColumnsAndBlocks) {
  for (const BlockScale blocks : {BlockScale::rows_squares, BlockScale::squares_rows, BlockScale::rows_rows}) {
    Problem problem = make_block_problem(140, 140, 300, DType::e4m3, blocks);
    problem.blocks_lda = block_rows_a(problem).leading + 1;
    problem.blocks_ldb = block_rows_b(problem).leading + 3;
    const auto right = checked(problem, sums_of_128());
    EXPECT_TRUE(right.passed) << name_of(blocks) << ": " << right.what;
    const int64_t row = blocks == BlockScale::squares_rows ? 128 : 1;
    const int64_t column = blocks == BlockScale::rows_squares ? 128 : 1;
    for (const BlockFaults& faults : {BlockFaults{.row = row}, BlockFaults{.block = 1}, BlockFaults{.column = column},
                                      BlockFaults{.length = 256}}) {
      for (const Tier tier : {Tier::exact, Tier::random}) {
        const auto wrong = check(problem, tier, sums_of_128(faults));
        ASSERT_TRUE(wrong.ok());
        EXPECT_FALSE(wrong->passed) << name_of(blocks) << ", " << name_of(tier) << ": row " << faults.row << ", block "
                                    << faults.block << ", column " << faults.column << ", length " << faults.length;
      }
    }
  }
}

}  // namespace
}  // namespace pbprobe
