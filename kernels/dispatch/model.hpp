// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Model of a GPU kernel's time for a problem, and of the best split-K: the one model that ranks tiles, split-K and
// small-M kernels. Rates come from the target's row (recipes/targets.json) at the device's own clock; the kernels'
// overheads are measured (docs/kernels/model.md). Pure host code.
#pragma once

#include <cstdint>
#include <optional>

#include "core/facts/host.hpp"
#include "kernels/gemm/problem.hpp"
#include "kernels/gemm/table.hpp"

namespace pbprobe {

[[nodiscard]] int64_t count_sms(const Gpu& gpu);

// Preparation of an operand before the GEMM reads it.
enum class Pass { none, transpose, align };
struct Reading {
  Pass a = Pass::none;
  Pass b = Pass::none;
  bool unaligned = false;  // rows of an operand are read unaligned, element by element or shifted
};
[[nodiscard]] Reading plan_reading(const Kernel& kernel, const Problem& problem);

// Result of split-K. `parts` counts the blocks of a cluster for a small_m kernel.
struct Split {
  int64_t parts = 1;
  double seconds = 0;  // time of the GEMM with these parts, from launch to C
};
[[nodiscard]] Split best_split(const Kernel& kernel, const Problem& problem, const Gpu& gpu);
// Returns the split with as many parts as `parts`, or the most that k allows.
[[nodiscard]] Split make_split(const Kernel& kernel, const Problem& problem, const Gpu& gpu, int64_t parts);

}  // namespace pbprobe
