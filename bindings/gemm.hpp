// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// One GEMM for an operator: from what its tensors say to a plan and a launch. No torch headers: only torch.cpp sees
// those.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.hpp"
#include "core/result.hpp"
#include "kernels/dispatch/run.hpp"
#include "kernels/dispatch/slices.hpp"

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
  [[nodiscard]] Matrix columns_from(int64_t first, int64_t count) const {
    return {static_cast<const std::byte*>(data) + first * column_stride * size_of(type),
            rows,
            count,
            row_stride,
            column_stride,
            type};
  }
};

// Whether kernels can read it as it lies: neighbours along one dimension, and rows of the other that do not overlap.
[[nodiscard]] bool is_readable(const Matrix& matrix);

// C[m,n] = A[m,k] · B[k,n], C contiguous; both must be readable.
struct Gemm {
  Matrix a;
  Matrix b;
  DType c = DType::fp32;
  bool bias = false;
  bool scale_a = false;
  bool scale_b = false;
  bool per_tensor = false;
  BlockScale blocks = BlockScale::none;
  int64_t blocks_lda = 0;  // of FP32 scales of blocks, as a Problem's
  int64_t blocks_ldb = 0;
};

struct Place {
  std::optional<int32_t> gpu;  // its index for torch and the driver; none: CPU memory
  int64_t threads = 1;         // CPU: at most so many
};

using Slices = std::vector<Slice>;

// The kernel that this machine takes for it, or the forced one: one slice for all but extreme sizes. The calling thread
// keeps its plans, as planning takes longer than a small GEMM. The CPU's features are read once, and the driver only
// where a GPU is asked for: a process that has CUDA initialized must not fork.
// Errors: those of choose_slices().
[[nodiscard]] Result<std::shared_ptr<const Slices>> plan_gemm(const Gemm& gemm, const Place& place);

// What run_gemm() needs: the most of all slices, which use it one after another.
[[nodiscard]] int64_t workspace_bytes(const Slices& slices);

// operands: of the whole. stream: of CUDA. Loads the target's cubin on its first use on a GPU; the calling thread's
// CUDA context is the same before and after. Errors: those of run() and GpuKernels::load().
[[nodiscard]] Result<void> run_gemm(const Slices& slices, const Operands& operands, const Place& place, void* workspace,
                                    void* stream, const ParallelFor& parallel_for);

// Measures this CPU's instruction paths: from here on the fastest is taken instead of the table's first, by every
// thread of the process. Returns the rates in Gop/s of one core. Errors: those of detect_host().
[[nodiscard]] Result<Rates> calibrate();

// The kernel that GEMMs of the calling thread take, by public name; empty: the table's choice.
[[nodiscard]] const std::string& forced_kernel();
// Empty: the table's choice again. Error `usage` for a name that the table lacks.
[[nodiscard]] Result<void> force_kernel(std::string name);

}  // namespace pbprobe::ops
