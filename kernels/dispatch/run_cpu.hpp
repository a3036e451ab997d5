// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Inside the room: how the threads of a CPU compute a plan. Requires what run() and prepack() check.
#pragma once

#include "kernels/gemm/context.hpp"
#include "kernels/gemm/plan.hpp"

namespace pbprobe {

// Computes a CPU plan; for run(), which checks the operands.
void run_cpu(const Plan& plan, const Operands& operands, const Context& context);
// Packs B for a plan with prepacked_bytes; for prepack().
void prepack_cpu(const Plan& plan, const void* b, void* packed_b, const ParallelFor& parallel_for);

}  // namespace pbprobe
