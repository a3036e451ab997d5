// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Launches a plan, and nothing else: no allocation, no synchronization, no global state, no environment.
#pragma once

#include "core/result.hpp"
#include "kernels/gemm/context.hpp"
#include "kernels/gemm/plan.hpp"

namespace pbprobe {

// Packs B of a plan whose problem has prepacked_b into plan.prepacked_bytes at `packed_b`, which is aligned to
// kPackedAlign. Every plan of the same kernel, n and k reads it on this machine, whatever m and threads are; the packed
// layout depends on the vector length. Errors: usage (the plan does not read a packed B; a null or misaligned pointer;
// both overlap). On error, writes nothing.
[[nodiscard]] Result<void> prepack(const Plan& plan, const void* b, void* packed_b,
                                   const ParallelFor& parallel_for = {});

// Runs a plan. Errors: usage (null, misaligned or overlapping operands, a workspace that is too small, no GpuKernels
// for a GPU plan); device (the driver refused the launch: its name for the error). On error, writes nothing.
[[nodiscard]] Result<void> run(const Plan& plan, const Operands& operands, const Context& context);

}  // namespace pbprobe
