// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Launches a plan, and nothing else: no allocation, no synchronization, no global state, no environment.
#pragma once

#include <cstdint>

#include "core/result.hpp"
#include "kernels/gemm/choose.hpp"
#include "kernels/gemm/problem.hpp"

namespace pbprobe {

class GpuKernels;  // kernels/gemm/gpu.hpp

// A reference to something that calls task(state, i) once for each i of [0, count), on any threads in any order, and
// returns when all are done. The default does it in the calling thread.
struct ParallelFor {
  using Task = void (*)(void* state, int64_t index);
  void (*call)(void* pool, int64_t count, Task task, void* state) = nullptr;
  void* pool = nullptr;

  void operator()(int64_t count, Task task, void* state) const;
};

struct Context {
  void* workspace = nullptr;  // at least plan.workspace_bytes; on the device for a GPU plan
  int64_t workspace_bytes = 0;
  void* stream = nullptr;  // GPU: a CUstream of the current context; null: its default stream
  ParallelFor parallel_for;
  const GpuKernels* gpu = nullptr;  // GPU: the images that were loaded on this device
};

// Packs B of a plan whose problem has prepacked_b into plan.prepacked_bytes at `packed_b`, which is aligned to
// kPackedAlign. Every plan of the same kernel, n and k reads it, whatever m and threads are, on this machine: what is
// packed depends on the vector length. Errors: usage (the plan reads B as it lies; a null or misaligned pointer; both
// overlap). Where there is an error, nothing was written.
[[nodiscard]] Result<void> prepack(const Plan& plan, const void* b, void* packed_b,
                                   const ParallelFor& parallel_for = {});

// Errors: usage (null, misaligned or overlapping operands, a workspace that is too small, no GpuKernels for a GPU
// plan); device (the driver refused the launch: its name for the error). Where there is an error, nothing was written.
[[nodiscard]] Result<void> run(const Plan& plan, const Operands& operands, const Context& context);

}  // namespace pbprobe
