// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Small GEMM that shows whether a libtorch computes correctly. The supervisor draws the operands after the library is
// loaded and compares the result in its own process, in which no foreign code ever ran.
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

// Ragged sizes, small enough that |C| ≤ 4·k < 256: every integer up to 256 is a BF16 number.
inline constexpr int64_t kGemmM = 37;
inline constexpr int64_t kGemmN = 41;
inline constexpr int64_t kGemmK = 61;

struct GemmMatrices {
  std::vector<unsigned char> a, b, c;  // row by row, FP32 or BF16; C is filled with NaN
};

// Fills A and B with integers in [-2, 2] from `seed`.
[[nodiscard]] GemmMatrices gemm_operands(DType type, uint64_t seed);

// Compares `c` bit for bit with the exact product. Error malformed: the first wrong element, or a wrong size.
[[nodiscard]] Result<void> compare_gemm(const std::vector<unsigned char>& c, DType type, uint64_t seed);

// Area for GPUs other than the first, on which only the exact GEMM is tested.
inline constexpr std::string_view kOfEachGpu = "matrix products";

struct ReturnedGemm {
  FIELD(std::string, device);  // "cpu", "cuda:0"
  FIELD(std::string, dtype);
  FIELD(std::string, c, "in hexadecimal");
};

// Packs the result of a GEMM for the supervisor, which checks it with Verifier.
[[nodiscard]] ReturnedGemm returned_gemm(std::string device, DType type, const std::vector<unsigned char>& c);

// Checks in the supervisor what a worker really computed, independent of the worker's own claims.
class Verifier {
 public:
  // Checks one event of the worker. Returns the event to forward, or nullopt.
  [[nodiscard]] std::optional<std::string> pass(std::string_view event, uint64_t seed);

 private:
  void take(const ReturnedGemm& gemm, uint64_t seed);
  [[nodiscard]] bool is_right(const std::string& device) const;
  [[nodiscard]] std::string why_not(const std::string& device) const;

  std::map<std::string, std::set<std::string>> right_;  // types by device
  std::map<std::string, std::string> wrong_;
};

}  // namespace pbprobe
