// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Kernels that begin before the one ahead in their stream has ended (programmatic dependent launch).
#pragma once

#include <cstdint>

#include "kernels/gemm/table.hpp"

namespace pbprobe {

// Whether the kernel awaits what is ahead of it in its stream by itself (kernels/cuda/pdl.cuh).
[[nodiscard]] bool awaits_kernels_ahead(const Kernel& kernel);
// Bytes of dynamic shared memory by which an SM holds one of its blocks at once; 0: it need not. Blocks that begin
// early lie where those of the kernel ahead have left room: by twos on some SMs while others have none, unless so.
[[nodiscard]] int64_t shared_of_one_block(const Kernel& kernel);

}  // namespace pbprobe
