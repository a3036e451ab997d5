// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks of a kernel before timing: the checker on a small problem of the same kind, elements of the timed GEMM against
// FP64, and equal bits of repeated launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/result.hpp"
#include "kernels/dispatch/choose.hpp"
#include "kernels/gemm/problem.hpp"
#include "probes/measure/kernels/timing.hpp"

namespace pbprobe {

// Returns the plan's problem, or a smaller one of its types and layout, with two tiles and the same ragged rest in each
// direction and two passes over k, so that the checker takes milliseconds.
[[nodiscard]] Problem check_problem(const Plan& plan);

// Sets every byte of C to 0xff: NaN, and -1 in INT32.
void poison(const Problem& problem, void* c);

// Compares a grid of up to `most` rows and columns of C, the corners among them, with sums in FP64 (integers: exactly),
// within γ_k · Σ|a·b| + the output's rounding; and finds elements that were never written, of INT32 by products. Host
// pointers; the problem has neither bias nor scales. Error malformed: the element, what it is, and what it must be.
[[nodiscard]] Result<void> spot_check(const Problem& problem, const Operands& operands, int64_t most = 24);

struct Launches {
  std::function<Result<void>()> launch;                              // clears C, launches the kernel and waits for it
  std::function<Result<void>(std::vector<std::byte>& result)> read;  // reads C
};

// Launches up to `most` times and for up to `seconds`, and compares each result with the first. Returns the number of
// launches. Errors: malformed (a result has other bits; names the launch); errors of launch and read.
[[nodiscard]] Result<int64_t> repeat_launches(const Launches& launches, int64_t most, double seconds,
                                              const SecondsClock& clock);

}  // namespace pbprobe
