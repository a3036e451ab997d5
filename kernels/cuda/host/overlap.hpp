// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Kernels that begin before the one ahead in their stream has ended (programmatic dependent launch).
#pragma once

#include <cstdint>

#include "kernels/gemm/table.hpp"

namespace pbprobe {

// Reports whether the kernel itself waits for earlier kernels of its stream (kernels/cuda/pdl.cuh).
[[nodiscard]] bool awaits_kernels_ahead(const Kernel& kernel);
// Returns the bytes of dynamic shared memory with which an SM holds only one of the kernel's blocks; 0 if not needed.
// Blocks that begin early fill the room that the previous kernel has left: without this memory some SMs get two, others
// none.
[[nodiscard]] int64_t shared_of_one_block(const Kernel& kernel);

}  // namespace pbprobe
