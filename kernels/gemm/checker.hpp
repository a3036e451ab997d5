// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks a kernel on one problem: deterministic data between guard bands, a poisoned C, and two tiers.
//   exact   integers whose every partial sum is below 2^24 (INT8: all values), so that any order of accumulation gives
//           the same bits; two sets, without and with signs. Bits are compared; above 2^26 multiplications by
//           Freivalds' test. FP8: up to 8, of which 128 products fit the tensor core's 14 bits, and longer sums do not;
//           with scales of blocks up to 4, and the scales are 1 and 2.
//   random  normal data at k ≤ 1024 against FP64: |C - reference| ≤ γ_k · |A||B| + rounding of the output, u = 2^-23;
//           FP8: and the loss of its tensor core (NarrowSum in reference.hpp).
// Inputs have NaN (integers: a sentinel) before, behind and between their rows. C is poisoned, and the memory around it
// must stay unchanged. The padding of block scales is NaN. Above 2^26 multiplications some rows and columns are
// compared, the first and last among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "kernels/gemm/problem.hpp"

namespace pbprobe {

enum class Tier { exact, random };

// An array between two guard bands, all in one allocation, so that a copy on a device keeps its bands.
struct Guarded {
  std::vector<std::byte> bytes;
  int64_t offset = 0;        // bytes to the first element
  int64_t length_bytes = 0;  // elements, and the gaps between their rows

  [[nodiscard]] std::byte* data() { return bytes.empty() ? nullptr : bytes.data() + offset; }
  [[nodiscard]] const std::byte* data() const { return bytes.empty() ? nullptr : bytes.data() + offset; }
};

struct CheckData {
  Guarded a;
  Guarded b;
  Guarded c;
  Guarded bias;
  Guarded scale_a;
  Guarded scale_b;
  Guarded blocks_a;
  Guarded blocks_b;

  // Pointers into host memory; null where the problem has no such vector.
  [[nodiscard]] Operands operands() const;
};

// Computes the problem on this data, into data.c: on a device, by copying each whole allocation there and C's back.
using Execute = std::function<Result<void>(const Problem&, CheckData&)>;

struct CheckOptions {
  int64_t misalign = 0;  // elements by which every array is off 64 bytes
  uint64_t seed = 1;
};

struct CheckResult {
  bool passed = true;
  std::string what;     // worst element: its place, the expected and the seen value
  double worst = 0;     // random: greatest error as a part of its bound
  double greatest = 0;  // greatest |C|: exact tiers reach beyond 2^20 where k allows
};

// Runs one tier (in the exact tier both sets). Errors: errors of `execute`; usage: a problem that is not valid, or a
// random tier with k > 1024, in which a dropped element would hide in the bound.
[[nodiscard]] Result<CheckResult> check(const Problem& problem, Tier tier, const Execute& execute,
                                        const CheckOptions& options = {});

// Runs both tiers; the random one on the first 1024 of k.
[[nodiscard]] Result<CheckResult> check(const Problem& problem, const Execute& execute,
                                        const CheckOptions& options = {});

}  // namespace pbprobe
