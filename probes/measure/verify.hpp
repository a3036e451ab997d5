// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What a kernel must pass before it is timed, in a fraction of the time that the measuring takes: the checker on a
// problem of this kind that is small enough, and elements of the very GEMM that is timed against FP64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/result.hpp"
#include "kernels/dispatch/choose.hpp"
#include "kernels/gemm/problem.hpp"
#include "probes/measure/timing.hpp"

namespace pbprobe {

// The plan's problem, or one of its types and layout with two tiles and the same ragged rest in each direction, and two
// passes over k: what the checker then runs takes milliseconds.
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

// Launches until `most` launches or `seconds` are over, and compares each result with the first. Returns the number of
// launches. Errors: malformed (a result has other bits; names the launch), or that of launch or read.
[[nodiscard]] Result<int64_t> repeat_launches(const Launches& launches, int64_t most, double seconds,
                                              const SecondsClock& clock);

}  // namespace pbprobe
