// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The small GEMM that tells whether a libtorch computes: its operands are drawn by the supervisor once the library
// is loaded, and what comes back is compared there, where no foreign code ever ran.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.hpp"
#include "core/fields.hpp"
#include "core/result.hpp"

namespace pbprobe {

// Ragged, and small enough that |C| ≤ 4·k < 256: every integer up to there is a BF16 number.
inline constexpr int64_t kGemmM = 37;
inline constexpr int64_t kGemmN = 41;
inline constexpr int64_t kGemmK = 61;

struct GemmMatrices {
  std::vector<unsigned char> a, b, c;  // row by row, FP32 or BF16; C is filled with NaN
};

// Integers from -2 to 2, the same for the same seed.
[[nodiscard]] GemmMatrices gemm_operands(DType type, uint64_t seed);

// Every bit against integers. Error malformed: the first element that differs, or another size.
[[nodiscard]] Result<void> compare_gemm(const std::vector<unsigned char>& c, DType type, uint64_t seed);

// What a worker hands over: C, as it came back.
// The area of a GPU that is not the first: there only the exact GEMM is tried.
inline constexpr std::string_view kOfEachGpu = "matrix products";

struct ReturnedGemm {
  std::string device;  // "cpu", "cuda:0"
  std::string dtype;
  std::string c;  // in hexadecimal
};

template <class Visitor, SameAs<ReturnedGemm> T>
void fields(Visitor& visit, T& gemm) {
  visit("device", gemm.device);
  visit("dtype", gemm.dtype);
  visit("c", gemm.c, "in hexadecimal");
}

[[nodiscard]] ReturnedGemm returned_gemm(std::string device, DType type, const std::vector<unsigned char>& c);

// The supervisor's: what was really computed, whatever a worker says of itself.
class Verifier {
 public:
  // A line of the worker's events; returns what goes on to the starter, or nothing.
  [[nodiscard]] std::optional<std::string> pass(std::string_view event, uint64_t seed);

 private:
  void take(const ReturnedGemm& gemm, uint64_t seed);
  [[nodiscard]] bool right_on(const std::string& device) const;
  [[nodiscard]] std::string why_not(const std::string& device) const;

  std::map<std::string, std::set<std::string>> right_;  // types by device
  std::map<std::string, std::string> wrong_;
};

}  // namespace pbprobe
