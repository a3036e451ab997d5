// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Inside the room: whether a GPU can read and write what a GEMM is given, asked of the driver before the launch. A
// kernel that reads host memory breaks the context of the whole process; a wrong pointer is an error of one call here.
#pragma once

#include "kernels/gemm/context.hpp"
#include "kernels/gemm/plan.hpp"

namespace pbprobe {

struct DriverApi;  // core/driver/driver_api.hpp

// Checks that operands and workspace are in memory of `device`, to which the current context must belong, or in managed
// memory. Errors: usage (host memory; memory of another GPU; a context of another GPU); device. Asks the driver once
// for each array: 60 ns each on one H200 host, beside 1.6 µs for a queued launch.
[[nodiscard]] Result<void> check_places(const DriverApi& driver, int device, const Plan& plan, const Operands& operands,
                                        const Context& context);

}  // namespace pbprobe
