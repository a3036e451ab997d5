// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Inside the room: how a CPU's plan is cut into passes and tasks. Pure host code.
#pragma once

#include <cstdint>

#include "kernels/gemm/plan.hpp"

namespace pbprobe {

// Reports whether a kernel of small M computes C's few columns as rows, with A and B swapped. The kernel's rows are
// then the problem's columns.
[[nodiscard]] bool swaps_operands(const Kernel& kernel, const Problem& problem);

// Reports whether the kernel reads the larger operand of a small-M problem faster than others pack it: along k, if it
// must, and in few passes.
[[nodiscard]] bool suits_in_place(const Kernel& kernel, const Problem& problem);

// Returns how many columns of B a thread that works alone packs at a time: their panels stay in its second-level cache.
[[nodiscard]] int64_t count_block_columns(const Kernel& kernel, int64_t k_block);

// Divides a GEMM among at most `threads` threads: sets plan.cpu, plan.split (the parts of k), and the bytes of
// workspace and of a prepacked B.
void cut_cpu(Plan& plan, int64_t threads);

// Returns a part of k of a split plan as a plan of its own: its C is [m, n] of accumulators.
[[nodiscard]] Plan make_part(const Plan& plan, int64_t part);

}  // namespace pbprobe
