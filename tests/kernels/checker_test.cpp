// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The checker must pass what is right and reject what is subtly wrong: each planted fault, and its passing twin.
#include "kernels/gemm/checker.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/gemm/reference.hpp"

namespace pbprobe {
namespace {

using testing::HasSubstr;

// A plain kernel whose faults can be planted: `step` sees the sum after each k, `depth` how far it goes.
struct Faults {
  std::function<float(float sum, int64_t l)> step = [](float sum, int64_t) { return sum; };
  std::function<std::vector<int64_t>(int64_t k)> order = [](int64_t k) {
    std::vector<int64_t> all(static_cast<size_t>(k));
    for (int64_t l = 0; l < k; ++l) all[static_cast<size_t>(l)] = l;
    return all;
  };
};

Execute plain(Faults faults = {}) {
  return [faults](const Problem& p, CheckData& data) -> Result<void> {
    const auto o = data.operands();
    const auto order = faults.order(p.k);
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        float sum = 0;
        int32_t integer = 0;
        for (int64_t l : order) {
          const double a = element(o.a, p.a, a_is_km(p.layout) ? l * p.lda + i : i * p.lda + l);
          const double b = element(o.b, p.b, b_is_nk(p.layout) ? j * p.ldb + l : l * p.ldb + j);
          if (p.accumulator == DType::int32) {
            integer += static_cast<int32_t>(a * b);
          } else {
            sum = faults.step(std::fmaf(static_cast<float>(a), static_cast<float>(b), sum), l);
          }
        }
        double value = p.accumulator == DType::int32 ? integer : static_cast<double>(sum);
        if (p.scale_a) value = static_cast<double>(static_cast<float>(value) * o.scale_a[p.per_tensor ? 0 : i]);
        if (p.scale_b) value = static_cast<double>(static_cast<float>(value) * o.scale_b[p.per_tensor ? 0 : j]);
        if (p.bias) value = static_cast<double>(static_cast<float>(value) + o.bias[j]);
        set_element(o.c, p.c, i * p.ldc + j, value);
      }
    }
    return {};
  };
}

float round_float(float value, DType type) {
  return static_cast<float>(rounded(static_cast<double>(value), type));
}

CheckResult checked(const Problem& problem, const Execute& execute, const CheckOptions& options = {}) {
  auto result = check(problem, execute, options);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? *result : CheckResult{};
}

Problem spaced(Problem p) {
  p.lda += 3;
  p.ldb += 1;
  p.ldc += 2;
  return p;
}

TEST(Checker, PassesWhatIsRight) {
  for (Layout layout : {Layout::nt, Layout::nn, Layout::tn, Layout::tt}) {
    for (DType type : {DType::fp32, DType::bf16, DType::fp16, DType::int8, DType::uint8, DType::e4m3, DType::e5m2}) {
      const auto result = checked(spaced(make_problem(7, 11, 61, type, layout)), plain());
      EXPECT_TRUE(result.passed) << result.what;
    }
  }
  auto p = make_problem(5, 9, 33, DType::bf16, DType::bf16);
  p.bias = p.scale_a = p.scale_b = true;
  EXPECT_TRUE(checked(p, plain()).passed) << checked(p, plain()).what;
  p = make_problem(5, 9, 33, DType::int8, DType::fp32);
  p.bias = p.scale_a = p.scale_b = true;
  EXPECT_TRUE(checked(p, plain()).passed) << checked(p, plain()).what;
}

TEST(Checker, PassesOneScaleOfAll) {
  auto p = make_problem(5, 9, 33, DType::e4m3, DType::bf16);
  p.scale_a = p.scale_b = p.per_tensor = true;
  EXPECT_TRUE(checked(p, plain()).passed) << checked(p, plain()).what;
  // Read as if there were one a row: from behind the scale, where NaN are.
  const auto by_rows = [](const Problem& q, CheckData& data) {
    Problem rows = q;
    rows.per_tensor = false;
    return plain()(rows, data);
  };
  EXPECT_FALSE(checked(p, by_rows).passed);
}

// An FP8 tensor core as it is: 32 products and the accumulator are aligned to the greatest of them, and keep 13 bits
// behind its point. A sum begins anew after `length` products, and is added to the others in FP32.
Execute narrow(int64_t length) {
  return [length](const Problem& p, CheckData& data) -> Result<void> {
    const auto o = data.operands();
    const auto product = [&](int64_t i, int64_t j, int64_t l) {
      return element(o.a, p.a, i * p.lda + l) * element(o.b, p.b, j * p.ldb + l);
    };
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        float total = 0;
        double sum = 0;
        for (int64_t first = 0; first < p.k; first += 32) {
          const int64_t end = std::min(p.k, first + 32);
          double greatest = std::fabs(sum);
          for (int64_t l = first; l < end; ++l) greatest = std::max(greatest, std::fabs(product(i, j, l)));
          const double unit = greatest == 0 ? 1 : std::ldexp(1.0, std::ilogb(greatest) - 13);
          double aligned = std::trunc(sum / unit);
          for (int64_t l = first; l < end; ++l) aligned += std::trunc(product(i, j, l) / unit);
          sum = aligned * unit;
          if (end % length == 0 || end == p.k) {
            total += static_cast<float>(sum);
            sum = 0;
          }
        }
        set_element(o.c, p.c, i * p.ldc + j, static_cast<double>(total));
      }
    }
    return {};
  };
}

TEST(Checker, PassesFp8SumsOf128AndRejectsThoseOfAllK) {
  for (DType type : {DType::e4m3, DType::e5m2}) {
    for (const int64_t length : {32, 64, 128}) {
      const auto result = checked(make_problem(4, 4, 4096, type), narrow(length));
      EXPECT_TRUE(result.passed) << length << ": " << result.what;
      EXPECT_LT(result.worst, 0.5) << "the bound is no tighter than it must be";
    }
    const auto result = check(make_problem(4, 4, 4096, type), Tier::exact, narrow(4096));
    ASSERT_TRUE(result.ok());
    EXPECT_FALSE(result->passed);
  }
}

TEST(Checker, RejectsADroppedLastKOfFp8) {
  const auto shorter = [](const Problem& p, CheckData& data) -> Result<void> {
    Problem less = p;
    --less.k;
    return narrow(128)(less, data);
  };
  for (Tier tier : {Tier::exact, Tier::random}) {
    const auto result = check(make_problem(16, 16, 1024, DType::e4m3), tier, shorter);
    ASSERT_TRUE(result.ok());
    EXPECT_FALSE(result->passed) << name_of(tier);
  }
}

// OCP's values, by their bits.
TEST(Reference, ReadsAndWritesFp8) {
  const auto value = [](DType type, uint8_t byte) { return element(&byte, type, 0); };
  const auto bits = [](DType type, double number) {
    uint8_t byte = 0;
    set_element(&byte, type, 0, number);
    return static_cast<int>(byte);
  };
  EXPECT_EQ(value(DType::e4m3, 0x7e), 448);
  EXPECT_EQ(value(DType::e4m3, 0x38), 1);
  EXPECT_EQ(value(DType::e4m3, 0x08), 0x1p-6);
  EXPECT_EQ(value(DType::e4m3, 0x81), -0x1p-9);
  EXPECT_TRUE(std::isnan(value(DType::e4m3, 0x7f)) && std::isnan(value(DType::e4m3, 0xff)));
  EXPECT_EQ(value(DType::e5m2, 0x7b), 57344);
  EXPECT_EQ(value(DType::e5m2, 0x3c), 1);
  EXPECT_EQ(value(DType::e5m2, 0x81), -0x1p-16);
  EXPECT_TRUE(std::isinf(value(DType::e5m2, 0x7c)) && std::isnan(value(DType::e5m2, 0x7d)));
  for (DType type : {DType::e4m3, DType::e5m2}) {
    for (int code = 0; code < 256; ++code) {
      const double number = value(type, static_cast<uint8_t>(code));
      if (std::isnan(number)) continue;
      EXPECT_EQ(bits(type, number), code) << name_of(type);
    }
  }
  EXPECT_EQ(bits(DType::e4m3, 1.0625), 0x38) << "ties to even";
  EXPECT_EQ(bits(DType::e4m3, 1.1875), 0x3a) << "ties to even";
  EXPECT_EQ(bits(DType::e4m3, 464), 0x7e);
  EXPECT_EQ(bits(DType::e4m3, 465), 0x7f) << "there is no infinity";
  EXPECT_EQ(bits(DType::e5m2, 61440), 0x7c);
  EXPECT_EQ(bits(DType::e5m2, -0x1p-17), 0x80) << "a tie, to even";
}

// OCP's E2M1: all sixteen codes, by the table of the MX specification; two to a byte, the first in the lower half.
TEST(Reference, ReadsAndWritesE2m1) {
  constexpr double kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};
  for (int code = 0; code < 16; ++code) {
    for (int other = 0; other < 16; ++other) {
      const auto byte = static_cast<uint8_t>(other << 4 | code);
      EXPECT_EQ(element(&byte, DType::e2m1x2, 0), kValues[code]);
      EXPECT_EQ(element(&byte, DType::e2m1x2, 1), kValues[other]);
      EXPECT_EQ(std::signbit(element(&byte, DType::e2m1x2, 0)), code >= 8);
      uint8_t written = 0xff;
      set_element(&written, DType::e2m1x2, 0, kValues[code]);
      set_element(&written, DType::e2m1x2, 1, kValues[other]);
      EXPECT_EQ(written, byte);
    }
  }
  const std::array<std::array<double, 2>, 9> pairs{
      {{0.25, 0}, {0.26, 0.5}, {0.75, 1}, {1.25, 1}, {1.75, 2}, {2.5, 2}, {3.5, 4}, {5, 4}, {-100, -6}}};
  for (const auto& [value, nearest] : pairs) EXPECT_EQ(rounded(value, DType::e2m1x2), nearest) << value;
}

// UE8M0: powers of two from 2^-127 to 2^127, and NaN. UE4M3: E4M3's positive half, with its subnormals and its NaN.
TEST(Reference, ReadsScalesOfBlocks) {
  double power = 0x1p-127;
  for (int code = 0; code < 255; ++code, power *= 2) {
    EXPECT_EQ(block_scale(BlockScale::mx, static_cast<uint8_t>(code)), power) << code;
  }
  EXPECT_TRUE(std::isnan(block_scale(BlockScale::mx, 255)));
  for (int code = 0; code < 127; ++code) {
    const int exponent = code / 8;
    const double fraction = code % 8 / 8.0;
    const double value = exponent == 0 ? fraction * 0x1p-6 : (1 + fraction) * std::pow(2.0, exponent - 7);
    EXPECT_EQ(block_scale(BlockScale::nvfp4, static_cast<uint8_t>(code)), value) << code;
  }
  EXPECT_EQ(block_scale(BlockScale::nvfp4, 0x7e), 448);
  for (int code = 127; code < 256; ++code) {
    EXPECT_TRUE(std::isnan(block_scale(BlockScale::nvfp4, static_cast<uint8_t>(code)))) << code;
  }
}

TEST(Checker, PassesEmptyProblems) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{0, 3, 3}, {3, 0, 3}, {3, 3, 0}, {0, 0, 0}}) {
    EXPECT_TRUE(checked(make_problem(m, n, k, DType::fp32), plain()).passed);
  }
}

TEST(Checker, ExactTierGoesBeyondTwoToTheTwentieth) {
  for (int64_t k : {17, 64, 300, 1024, 5000}) {
    const auto result = check(make_problem(2, 2, k, DType::bf16), Tier::exact, plain());
    ASSERT_TRUE(result.ok());
    EXPECT_TRUE(result->passed) << result->what;
    EXPECT_GT(result->greatest, 0x1p20) << k;
    EXPECT_LE(result->greatest, 0x1p24) << k;
  }
}

TEST(Checker, RejectsBf16Partials) {
  Faults faults;
  faults.step = [](float sum, int64_t l) { return l % 128 == 127 ? round_float(sum, DType::bf16) : sum; };
  const auto result = check(make_problem(4, 4, 512, DType::bf16), Tier::exact, plain(faults));
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->passed);
  EXPECT_THAT(result->what, HasSubstr("exact tier"));
}

TEST(Checker, RejectsAnFp16Accumulator) {
  Faults faults;
  faults.step = [](float sum, int64_t) { return round_float(sum, DType::fp16); };
  for (Tier tier : {Tier::exact, Tier::random}) {
    const auto result = check(make_problem(4, 4, 512, DType::fp16), tier, plain(faults));
    ASSERT_TRUE(result.ok());
    EXPECT_FALSE(result->passed) << name_of(tier);
  }
}

TEST(Checker, RejectsATf32Gemm) {
  Faults faults;
  faults.step = [](float sum, int64_t) { return round_float(sum, DType::tf32); };
  EXPECT_FALSE(checked(make_problem(4, 4, 100, DType::fp32), plain(faults)).passed);
}

TEST(Checker, RejectsADroppedLastK) {
  Faults faults;
  faults.order = [](int64_t k) {
    std::vector<int64_t> all;
    for (int64_t l = 0; l + 1 < k; ++l) all.push_back(l);
    return all;
  };
  for (Tier tier : {Tier::exact, Tier::random}) {
    const auto result = check(make_problem(8, 8, 1024, DType::bf16), tier, plain(faults));
    ASSERT_TRUE(result.ok());
    EXPECT_FALSE(result->passed) << name_of(tier);
  }
}

TEST(Checker, RejectsAKTileCountedTwice) {
  Faults faults;
  faults.order = [](int64_t k) {
    std::vector<int64_t> all;
    for (int64_t l = 0; l < k; ++l) all.push_back(l);
    for (int64_t l = k - 16; l < k; ++l) all.push_back(l);
    return all;
  };
  for (DType type : {DType::fp32, DType::bf16, DType::int8}) {
    EXPECT_FALSE(checked(make_problem(4, 4, 256, type), plain(faults)).passed);
  }
}

TEST(Checker, RejectsARaggedTailReadPastTheEnd) {
  // k is rounded up to 8: the tail comes from the gap between the rows, or from behind the matrix.
  Faults faults;
  faults.order = [](int64_t k) {
    std::vector<int64_t> all;
    for (int64_t l = 0; l < (k + 7) / 8 * 8; ++l) all.push_back(l);
    return all;
  };
  for (DType type : {DType::fp32, DType::bf16, DType::fp16, DType::int8}) {
    for (const auto& p : {make_problem(3, 3, 13, type), spaced(make_problem(3, 3, 13, type, Layout::tn))}) {
      const auto result = checked(p, plain(faults));
      EXPECT_FALSE(result.passed) << name_of(type) << ' ' << name_of(p.layout);
    }
  }
}

TEST(Checker, RejectsElementsThatWereNotWritten) {
  const auto execute = [](const Problem& p, CheckData& data) -> Result<void> {
    auto shorter = p;
    shorter.n -= 1;
    return plain()(shorter, data);
  };
  const auto result = checked(make_problem(4, 4, 4, DType::fp32), execute);
  EXPECT_FALSE(result.passed);
  EXPECT_THAT(result.what, HasSubstr("C[0,3] is nan"));
}

TEST(Checker, RejectsWritesAroundC) {
  for (int64_t at : {int64_t{-1}, int64_t{4}, int64_t{3 * 6 + 4}}) {  // before, between the rows, behind
    auto p = make_problem(4, 4, 4, DType::fp32);
    p.ldc = 6;
    const auto execute = [at](const Problem& q, CheckData& data) -> Result<void> {
      auto result = plain()(q, data);
      set_element(data.c.data(), DType::fp32, at, 0.0);
      return result;
    };
    const auto result = checked(p, execute);
    EXPECT_FALSE(result.passed) << at;
    EXPECT_THAT(result.what, HasSubstr("memory outside C was written"));
  }
}

TEST(Checker, RejectsKZeroThatLeavesCAsItWas) {
  const auto nothing = [](const Problem&, CheckData&) -> Result<void> { return {}; };
  EXPECT_FALSE(checked(make_problem(3, 3, 0, DType::fp32), nothing).passed);
  EXPECT_FALSE(checked(make_problem(3, 3, 0, DType::int8), nothing).passed);
}

TEST(Checker, FreivaldsFindsOneWrongElementOfALargeGemm) {
  // 513 × 512 × 512 is too large for a complete comparison. The plain product is computed once, and spoilt at an
  // element that is not sampled.
  const auto p = make_problem(513, 512, 512, DType::int8);
  for (const bool spoil : {false, true}) {
    const auto execute = [&](const Problem& q, CheckData& data) -> Result<void> {
      const auto o = data.operands();
      const Reference reference(q, o);
      for (int64_t i = 0; i < q.m; ++i) {
        const auto row = reference.row(i);
        for (int64_t j = 0; j < q.n; ++j) set_element(o.c, q.c, i * q.ldc + j, row.value[static_cast<size_t>(j)]);
      }
      if (spoil) set_element(o.c, q.c, 301 * q.ldc + 333, element(o.c, q.c, 301 * q.ldc + 333) + 1);
      return {};
    };
    const auto result = check(p, Tier::exact, execute);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->passed, !spoil) << result->what;
    EXPECT_THAT(result->what, HasSubstr(spoil ? "row 301" : ""));
  }
}

TEST(Checker, RefusesARandomTierThatHidesADroppedK) {
  const auto result = check(make_problem(2, 2, 8192, DType::fp32), Tier::random, plain());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::usage);
}

TEST(Checker, PassesAnErrorOn) {
  const auto refuse = [](const Problem&, CheckData&) -> Result<void> {
    return make_error(ErrorCode::device, "no such device");
  };
  const auto result = check(make_problem(2, 2, 2, DType::fp32), refuse);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "no such device");
}

TEST(Reference, RoundsAsTheFormatsDo) {
  EXPECT_EQ(rounded(1.0 + 0x1p-8, DType::bf16), 1.0);  // a tie goes to the even one
  EXPECT_EQ(rounded(1.0 + 3 * 0x1p-8, DType::bf16), 1.0 + 0x1p-6);
  EXPECT_EQ(rounded(1.0 + 0x1.8p-8, DType::bf16), 1.0 + 0x1p-7);
  EXPECT_EQ(rounded(65519.0, DType::fp16), 65504.0);
  EXPECT_TRUE(std::isinf(rounded(65520.0, DType::fp16)));
  EXPECT_EQ(rounded(0x1p-24, DType::fp16), 0x1p-24);
  EXPECT_EQ(rounded(0x1p-26, DType::fp16), 0.0);
  EXPECT_EQ(rounded(1.0 + 0x1p-11, DType::tf32), 1.0 + 0x1p-10);  // cvt.rna: ties away from zero
  EXPECT_EQ(rounded(-1.0 - 0x1p-11, DType::tf32), -1.0 - 0x1p-10);
}

TEST(Reference, StoresAndReadsEveryHalf) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if ((half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0) continue;  // NaNs
    uint16_t stored = 0;
    set_element(&stored, DType::fp16, 0, element(&half, DType::fp16, 0));
    ASSERT_EQ(stored, half);
    if ((half & 0x7f80) == 0x7f80 && (half & 0x7f) != 0) continue;
    set_element(&stored, DType::bf16, 0, element(&half, DType::bf16, 0));
    ASSERT_EQ(stored, half);
  }
}

}  // namespace
}  // namespace pbprobe
