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

// The element `index` of an array of any type, as a double (exact).
[[nodiscard]] double element(const void* data, DType type, int64_t index);

// Rounds to nearest, ties to even, and stores. Integers must be in range; fp16 and bf16 overflow to infinity.
void set_element(void* data, DType type, int64_t index, double value);

// What a value becomes when it is rounded to a type.
[[nodiscard]] double rounded(double value, DType type);

// One row of C (before any rounding) and of |A|·|B|, both of n elements.
struct ReferenceRow {
  std::vector<double> value;
  std::vector<double> magnitude;
};

// A · B for some rows of A with all of B, or of all of A with some columns of B. Sums in FP64: exact for integers
// up to 2^53. TF32 inputs are rounded to 10 bits first, as the tensor core reads them. Scales and bias are applied.
class Reference {
 public:
  // Copies A and B into doubles, [m,k] and [n,k].
  Reference(const Problem& problem, const Operands& operands);

  [[nodiscard]] ReferenceRow row(int64_t i) const;
  [[nodiscard]] ReferenceRow column(int64_t j) const;
  // Row i of A (k elements), column j of B (k elements).
  [[nodiscard]] std::span<const double> a(int64_t i) const;
  [[nodiscard]] std::span<const double> b(int64_t j) const;

 private:
  void add(int64_t i, int64_t j, ReferenceRow& to) const;
  Problem problem_;
  std::vector<double> a_;
  std::vector<double> b_;
  std::vector<double> bias_;
  std::vector<double> scale_a_;
  std::vector<double> scale_b_;
};

}  // namespace pbprobe
