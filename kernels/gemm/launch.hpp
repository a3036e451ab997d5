// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Inside the room: the launch of a GPU plan whose operands run() has checked.
#pragma once

#include "kernels/gemm/run.hpp"

namespace pbprobe {

[[nodiscard]] Result<void> launch_gpu(const Plan& plan, const Operands& operands, const Context& context);

}  // namespace pbprobe
