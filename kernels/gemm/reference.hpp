// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The reference: plain GEMMs in FP64, or in integers, that every kernel is checked against.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/dtype.hpp"
#include "kernels/gemm/problem.hpp"

namespace pbprobe {

// Returns the number `index` of an array of any type as a double (exact). An element of e2m1x2 holds two numbers.
[[nodiscard]] double element(const void* data, DType type, int64_t index);

// Rounds to nearest, ties to even, and stores. Integers must be in range; fp16 and bf16 overflow to infinity.
void set_element(void* data, DType type, int64_t index, double value);

// Decodes a block's scale. MX: 2^(code − 127), and 255 is NaN; NVFP4: E4M3 without a sign, for which codes of 128 and
// more are undefined (NaN here).
[[nodiscard]] double block_scale(BlockScale blocks, uint8_t code);
// Returns the offset in bytes of the scale of block `block` of row (or column) `line`.
[[nodiscard]] int64_t place_of_scale(const Problem& problem, int64_t line, int64_t block);

// Rounds a value to a type.
[[nodiscard]] double rounded(double value, DType type);

// Bound of the loss of a sum of FP8 products in the tensor core. The core takes 32 products and its accumulator at a
// time, aligns all to the greatest and keeps 13 bits behind the greatest one's point. Its sums of 128 products at most,
// or with fast sums of all, are added in FP32. For E2M1 it takes 64 products; the number of digits that it keeps then
// is unknown, and the same loss is allowed.
class NarrowSum {
 public:
  explicit NarrowSum(const Problem& p) : step_(32 * numbers_in(p.a)), fast_(p.fast_sums) {}
  void add(double product);
  [[nodiscard]] double loss() const { return loss_ + of_step(); }

 private:
  [[nodiscard]] double of_step() const;
  int64_t step_;
  bool fast_;
  int64_t count_ = 0;
  double sum_ = 0;       // in the accumulator
  double greatest_ = 0;  // greatest of this step's products and the sum before it
  double loss_ = 0;      // loss of the steps before
};

// One row of C (before any rounding), of |A|·|B|, and of what FP8 may lose (else zeros), each of n elements.
struct ReferenceRow {
  std::vector<double> value;
  std::vector<double> magnitude;
  std::vector<double> loss;
};

// A · B for some rows of A with all of B, or of all of A with some columns of B. Sums in FP64: exact for integers
// up to 2^53. TF32 inputs are rounded to 10 bits first, as the tensor core reads them. Scales and bias are applied.
class Reference {
 public:
  // Copies A and B into doubles, [m,k] and [n,k], multiplied by the scales of their blocks.
  Reference(const Problem& problem, const Operands& operands);

  [[nodiscard]] ReferenceRow row(int64_t i) const;
  [[nodiscard]] ReferenceRow column(int64_t j) const;
  // Row i of A, column j of B: k numbers, of e2m1x2 twice as many.
  [[nodiscard]] std::span<const double> a(int64_t i) const;
  [[nodiscard]] std::span<const double> b(int64_t j) const;

 private:
  void add(int64_t i, int64_t j, ReferenceRow& to) const;
  Problem problem_;
  int64_t k_ = 0;  // numbers of a row of A
  std::vector<double> a_;
  std::vector<double> b_;
  std::vector<double> bias_;
  std::vector<double> scale_a_;
  std::vector<double> scale_b_;
};

}  // namespace pbprobe
