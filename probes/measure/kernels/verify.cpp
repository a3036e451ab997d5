// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/kernels/verify.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "core/fields.hpp"
#include "kernels/gemm/reference.hpp"

namespace pbprobe {
namespace {

constexpr double kSmallGemms = 1 << 22;

// Two tiles and what the size leaves over a tile.
int64_t clipped(int64_t size, int64_t tile) {
  const int64_t unit = std::max<int64_t>(tile, 1);
  return std::min(size, 2 * unit + size % unit);
}

// Up to `most` indices from the first to the last, none on a common period with a tile.
std::vector<int64_t> grid(int64_t size, int64_t most) {
  std::vector<int64_t> indices;
  const int64_t count = std::min(size, most);
  for (int64_t i = 0; i < count; ++i) indices.push_back(count == 1 ? 0 : i * (size - 1) / (count - 1));
  return indices;
}

double bound(const Problem& p, double magnitude, double loss, double expected) {
  if (p.c == DType::int32) return 0;
  constexpr double kUnit = 0x1p-23;     // tensor cores truncate
  constexpr double kScaling = 0x1p-22;  // a sum made FP32, and two factors
  const double ku = p.accumulator == DType::int32 ? 0 : static_cast<double>(p.k * numbers_in(p.a)) * kUnit;
  const bool scaled = p.accumulator == DType::int32 || p.scale_a || p.scale_b;
  const double rounding = (p.c == DType::bf16   ? 0x1p-8
                           : p.c == DType::fp16 ? 0x1p-11
                                                : 0x1p-24) +
                          (scaled ? kScaling : 0);
  const double inputs = p.a == DType::tf32 ? 0x1p-9 * magnitude : 0;
  const double subnormal = p.c == DType::fp16 ? 0x1p-25 : 0;  // half of the least that FP16 tells apart
  return ku / (1 - ku) * magnitude + loss + inputs + rounding * std::abs(expected) + subnormal;
}

// Number l along k of a row of A, or of a column of B, times the scale of its block.
double scaled_number(const Problem& p, const Operands& o, bool of_b, int64_t line, int64_t l) {
  const DType type = of_b ? p.b : p.a;
  const void* const scales = of_b ? o.blocks_b : o.blocks_a;
  const int64_t leading = of_b ? p.ldb : p.lda;
  const bool line_is_row = of_b ? b_is_nk(p.layout) : !a_is_km(p.layout);
  const int64_t numbers = numbers_in(type);
  const int64_t at = line_is_row ? line * leading + l / numbers : l / numbers * leading + line;
  const double value = element(of_b ? o.b : o.a, type, at * numbers + l % numbers);
  if (p.blocks == BlockScale::none) return value;
  const int64_t block = l / numbers / block_length(p.blocks, type);
  if (are_fp32(p.blocks))
    return value * element(scales, DType::fp32, place_in(of_b ? block_rows_b(p) : block_rows_a(p), line, block));
  return value * block_scale(p.blocks, static_cast<const uint8_t*>(scales)[place_of_scale(p, line, block)]);
}

// A matrix of integers, as it is stored, times a vector along its rows, or along its columns, modulo 2^32.
template <class T>
std::vector<uint32_t> multiply_by_vector(const void* matrix, int64_t rows, int64_t columns, int64_t leading,
                                         bool along_rows, const std::vector<uint32_t>& vector) {
  std::vector<uint32_t> result(static_cast<size_t>(along_rows ? rows : columns), 0);
  for (int64_t i = 0; i < rows; ++i) {
    const T* const row = static_cast<const T*>(matrix) + i * leading;
    uint32_t sum = 0;
    for (int64_t j = 0; j < columns; ++j) {
      const auto value = static_cast<uint32_t>(row[j]);
      if (along_rows)
        sum += value * vector[static_cast<size_t>(j)];
      else
        result[static_cast<size_t>(j)] += value * vector[static_cast<size_t>(i)];
    }
    if (along_rows) result[static_cast<size_t>(i)] = sum;
  }
  return result;
}

// C of INT32 has no value that says that an element was never written. So C·x is compared with A·(B·x), row by row: a
// single wrong element of a row always shows, since x is odd (Freivalds, "Probabilistic machines can use less running
// time", 1977).
Result<void> check_products(const Problem& p, const Operands& o) {
  const auto times = [](DType type) {
    return type == DType::uint8 ? &multiply_by_vector<uint8_t> : &multiply_by_vector<int8_t>;
  };
  std::vector<uint32_t> x(static_cast<size_t>(p.n));
  std::mt19937 random(1);
  for (uint32_t& one : x) one = static_cast<uint32_t>(random()) | 1U;
  const auto of_b = times(p.b)(o.b, stored_rows_b(p), stored_columns_b(p), p.ldb, !b_is_nk(p.layout), x);
  const auto wanted = times(p.a)(o.a, stored_rows_a(p), stored_columns_a(p), p.lda, !a_is_km(p.layout), of_b);
  const auto seen = multiply_by_vector<int32_t>(o.c, p.m, p.n, p.ldc, true, x);
  for (int64_t i = 0; i < p.m; ++i)
    if (seen[static_cast<size_t>(i)] != wanted[static_cast<size_t>(i)])
      return make_error(ErrorCode::malformed,
                        "row {} of C is wrong in some element: its product with a vector is {}, "
                        "and must be {}",
                        i, seen[static_cast<size_t>(i)], wanted[static_cast<size_t>(i)]);
  return {};
}

}  // namespace

Problem check_problem(const Plan& plan) {
  const Problem& p = plan.problem;
  if (static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) <= kSmallGemms) return p;
  const int64_t depth = std::max<int64_t>({plan.kernel->k_block, 4 * plan.tile.k, 16});
  Problem small = make_problem(clipped(p.m, plan.tile.m), clipped(p.n, plan.tile.n),
                               std::min(p.k, 2 * depth + p.k % 16), p.a, p.c, p.layout);
  small.b = p.b;
  small.accumulator = p.accumulator;
  small.prepacked_b = p.prepacked_b;
  small.scale_a = p.scale_a;
  small.scale_b = p.scale_b;
  small.per_tensor = p.per_tensor;
  small.fast_sums = p.fast_sums;
  small.blocks = p.blocks;
  small.c_is_nm = p.c_is_nm;
  small.ldc = stored_columns_c(small);
  return small;
}

void poison(const Problem& p, void* c) {
  std::memset(c, 0xff, static_cast<size_t>(extent(p.m, p.n, p.ldc) * size_of(p.c)));
}

Result<void> spot_check(const Problem& p, const Operands& operands, int64_t most) {
  for (const int64_t i : grid(p.m, most)) {
    for (const int64_t j : grid(p.n, most)) {
      double expected = 0;
      double magnitude = 0;
      NarrowSum narrow(p);
      for (int64_t l = 0; l < p.k * numbers_in(p.a); ++l) {
        const double a = scaled_number(p, operands, false, i, l);
        const double b = scaled_number(p, operands, true, j, l);
        expected += a * b;
        magnitude += std::abs(a * b);
        if (is_fp8(p.a) || p.a == DType::e2m1x2) narrow.add(a * b);
      }
      const double scale = (p.scale_a ? operands.scale_a[p.per_tensor ? 0 : i] : 1.0) *
                           (p.scale_b ? operands.scale_b[p.per_tensor ? 0 : j] : 1.0);
      expected *= scale;
      magnitude *= std::abs(scale);
      const double seen = element(operands.c, p.c, i * p.ldc + j);
      if (!(std::abs(seen - expected) <= bound(p, magnitude, narrow.loss() * std::abs(scale), expected)))
        return make_error(ErrorCode::malformed, "C[{},{}] is {}, and must be {}", i, j, seen, expected);
    }
  }
  if (p.c == DType::int32) return check_products(p, operands);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j)
      if (std::isnan(element(operands.c, p.c, i * p.ldc + j)))
        return make_error(ErrorCode::malformed, "C[{},{}] was not written, or is NaN", i, j);
  return {};
}

Result<int64_t> repeat_launches(const Launches& launches, int64_t most, double seconds, const SecondsClock& clock) {
  std::vector<std::byte> first;
  std::vector<std::byte> next;
  const double end = clock() + seconds;
  int64_t done = 0;
  for (; done < most && (done < 2 || clock() < end); ++done) {
    PBPROBE_CHECK(launches.launch(), "launch {} of {}", done + 1, most);
    PBPROBE_CHECK(launches.read(done == 0 ? first : next), "launch {} of {}", done + 1, most);
    if (done == 0 || next == first) continue;
    const auto place = std::mismatch(first.begin(), first.end(), next.begin(), next.end()).first - first.begin();
    return make_error(ErrorCode::malformed,
                      "launch {} of {} gave another result than the first launch: byte {} of C differs", done + 1, most,
                      place);
  }
  return done;
}

}  // namespace pbprobe
