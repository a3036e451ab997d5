// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include "tests/kernels/ptx/program.hpp"

namespace pbprobe::ptx {

// Binds the instructions of tcgen05; false: it is none of them.
[[nodiscard]] bool bind_tensor(Instruction& instruction);

}  // namespace pbprobe::ptx
