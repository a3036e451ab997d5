// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Inside the room: how sizes are cut into parts, and a CPU's plan into passes and tasks. Pure host code.
#pragma once

#include <cstdint>

#include "kernels/gemm/choose.hpp"

namespace pbprobe {

[[nodiscard]] constexpr int64_t divide_up(int64_t a, int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}
[[nodiscard]] constexpr int64_t round_up(int64_t a, int64_t b) {
  return divide_up(a, b) * b;
}

// Fills in plan.cpu and the bytes that it needs, for a kernel that packs B, or for one that reads it in place.
void cut_cpu(Plan& plan, int64_t threads);
void cut_in_place(Plan& plan, int64_t threads);

}  // namespace pbprobe
