// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Arguments of a launch besides its plan and its operands.
#pragma once

#include <cstdint>

namespace pbprobe {

class GpuKernels;  // kernels/cuda/host/gpu.hpp

// A reference to something that calls task(state, i) once for each i of [0, count), on any threads in any order, and
// returns when all are done. The default does it in the calling thread.
struct ParallelFor {
  using Task = void (*)(void* state, int64_t index);
  void (*call)(void* pool, int64_t count, Task task, void* state) = nullptr;
  void* pool = nullptr;

  void operator()(int64_t count, Task task, void* state) const;
};

// Resources of one planned GEMM: workspace, stream and loaded cubins (GPU), threads (CPU).
struct Context {
  void* workspace = nullptr;  // at least plan.workspace_bytes; on the device for a GPU plan
  int64_t workspace_bytes = 0;
  void* stream = nullptr;  // GPU: a CUstream of the current context; nullptr is its default stream
  ParallelFor parallel_for;
  const GpuKernels* gpu = nullptr;  // GPU: the cubins that were loaded on this device
};

}  // namespace pbprobe
