// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// How long a GPU kernel takes for a problem, and into how many parts split-K should cut it: the one model by which
// tiles, split-K and small-M kernels are ranked. Rates are the target row's (recipes/targets.json) at the device's own
// clock; what the kernels add is measured (docs/kernels/model.md). Pure host code.
#pragma once

#include <cstdint>
#include <optional>

#include "core/facts/host.hpp"
#include "kernels/gemm/problem.hpp"
#include "kernels/gemm/table.hpp"

namespace pbprobe {

[[nodiscard]] int64_t sms_of(const Gpu& gpu);

// What becomes of an operand before the GEMM reads it.
enum class Pass { none, transpose, align };
struct Reading {
  Pass a = Pass::none;
  Pass b = Pass::none;
  bool unaligned = false;  // rows of one are read as they lie, element by element or shifted
};
[[nodiscard]] Reading reading_of(const Kernel& kernel, const Problem& problem);

// Split-K. `parts`: of a small_m kernel, the blocks of a cluster.
struct Split {
  int64_t parts = 1;
  double seconds = 0;  // that the GEMM then takes, from launch to C
};
[[nodiscard]] Split best_split(const Kernel& kernel, const Problem& problem, const Gpu& gpu);
// The same with as many parts as are asked for, or the most that k has.
[[nodiscard]] Split split_in(const Kernel& kernel, const Problem& problem, const Gpu& gpu, int64_t parts);

}  // namespace pbprobe
