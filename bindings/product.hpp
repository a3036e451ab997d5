// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// One product for an operator: from what its tensors say to a plan and a launch. No torch headers: torch.cpp alone sees
// those.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/dtype.hpp"
#include "core/result.hpp"
#include "kernels/gemm/choose.hpp"
#include "kernels/gemm/run.hpp"

namespace pbprobe::ops {

// A matrix as a tensor has it; strides in elements.
struct Matrix {
  const void* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
  DType type = DType::fp32;

  [[nodiscard]] Matrix transposed() const { return {data, columns, rows, column_stride, row_stride, type}; }
};

// Whether kernels can read it as it lies: neighbours along one dimension, and rows of the other that do not overlap.
[[nodiscard]] bool is_readable(const Matrix& matrix);

// C[m,n] = A[m,k] · B[k,n], C contiguous; both must be readable.
struct Product {
  Matrix a;
  Matrix b;
  DType c = DType::fp32;
  bool bias = false;
  bool scale_a = false;
  bool scale_b = false;
};

struct Place {
  std::optional<int32_t> gpu;  // its index for torch and the driver; none: CPU memory
  int64_t threads = 1;         // CPU: at most so many
};

// The kernel that this machine takes for it, or the forced one. The CPU's features are read once, and the driver only
// where a GPU is asked for: a process that has CUDA initialized must not fork. Errors: those of choose().
[[nodiscard]] Result<Plan> plan_product(const Product& product, const Place& place);

// workspace: plan.workspace_bytes. stream: of CUDA. Loads the target's image on its first use on a GPU; the calling
// thread's CUDA context is the same before and after. Errors: those of run() and GpuKernels::load().
[[nodiscard]] Result<void> run_product(const Plan& plan, const Operands& operands, const Place& place, void* workspace,
                                       void* stream, const ParallelFor& parallel_for);

// Measures this CPU's instruction paths: from here on the fastest is taken instead of the table's first, by every
// thread of the process. Returns the rates in Gop/s of one core. Errors: those of detect_host().
[[nodiscard]] Result<Rates> calibrate();

// The kernel that products of the calling thread take, by public name; empty: the table's choice.
[[nodiscard]] const std::string& forced_kernel();
// Error `usage` for a name that the table lacks.
[[nodiscard]] Result<void> force_kernel(std::string name);

}  // namespace pbprobe::ops
