// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Inside the room: from the sums of the parts of k to C.
#pragma once

#include <cstddef>

#include "kernels/gemm/context.hpp"
#include "kernels/gemm/plan.hpp"

namespace pbprobe {

// Adds the sums of all parts in their order, and scales, adds the bias and converts like a kernel. sums: [parts, m, n]
// accumulators; the rows [first, end) of C are written.
void sum_parts(const Plan& plan, const Operands& operands, const std::byte* sums, int64_t first, int64_t end);

}  // namespace pbprobe
