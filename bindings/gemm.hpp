// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GEMM of an operator: from tensor properties to a plan and a launch. Needs no torch headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.hpp"
#include "core/facts/host.hpp"
#include "core/result.hpp"
#include "kernels/dispatch/choose.hpp"
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
  [[nodiscard]] Matrix slice_columns(int64_t first, int64_t count) const {
    return {static_cast<const std::byte*>(data) + first * column_stride * size_of(type),
            rows,
            count,
            row_stride,
            column_stride,
            type};
  }
};

// Reports whether kernels can read the matrix without a copy: neighbours along one dimension are adjacent, and rows of
// the other do not overlap.
[[nodiscard]] bool is_readable(const Matrix& matrix);

// C[m,n] = A[m,k] · B[k,n] with contiguous C. Requires is_readable() for A and B.
struct Gemm {
  Matrix a;
  Matrix b;
  DType c = DType::fp32;
  bool bias = false;
  bool scale_a = false;
  bool scale_b = false;
  bool per_tensor = false;
  BlockScale blocks = BlockScale::none;
  int64_t blocks_lda = 0;  // leading dimension of FP32 block scales, as in Problem
  int64_t blocks_ldb = 0;
  bool fast_sums = false;  // see Problem
  bool tf32 = false;       // FP32 operands on a GPU may be rounded to TF32; without kernels for it they are not
};

struct Place {
  std::optional<int32_t> gpu;  // GPU index in torch and the driver; null for CPU memory
  int64_t threads = 1;         // CPU: maximum number of threads
};

using Slices = std::vector<Slice>;

// Returns the slices for a GEMM, with the chosen or the forced kernel; one slice except for extreme sizes. Each thread
// caches its plans, because planning takes longer than a small GEMM; the slices remain until its next call. Reads CPU
// features once, and loads the driver only for a GPU: a process with initialized CUDA must not fork. Errors: as for
// choose_slices().
[[nodiscard]] Result<const Slices*> plan_gemm(const Gemm& gemm, const Place& place);

// Returns the workspace of run_gemm() in bytes: the largest slice, because slices run one after another.
[[nodiscard]] int64_t workspace_bytes(const Slices& slices);

// Runs the slices. `operands` covers the whole GEMM; `stream` is a CUDA stream. On first use on a GPU, loads the
// target's cubin. Restores the calling thread's CUDA context. Errors: as for run() and GpuKernels::load().
[[nodiscard]] Result<void> run_gemm(const Slices& slices, const Operands& operands, const Place& place, void* workspace,
                                    void* stream, const ParallelFor& parallel_for);

// Measures this CPU's instruction paths. From then on, all threads of the process use the fastest path instead of the
// table's first. Returns the rates in Gop/s per core. Errors: as for detect_host().
[[nodiscard]] Result<Rates> calibrate();

struct Forced {
  std::string name;      // public name of a kernel; "": the table decides
  int64_t parts = 0;     // GPU: parts of split-K, at most what the kernel can; 0: the model decides
  ClusterShape cluster;  // GPU, where parts are given
};
// Returns what is forced for the calling thread.
[[nodiscard]] const Forced& forced_kernel();
// Forces a kernel for the calling thread; "" restores the table's choice. Error `usage` for an unknown name, negative
// parts, or a cluster of no tiles or more than 8 in a direction.
[[nodiscard]] Result<void> force_kernel(Forced kernel);

// Gop/s of one core for every peak loop that this host can run, each the fastest of five slices of 2 ms; some 20 ms a
// loop. By the loops' public names.
[[nodiscard]] Rates measure_rates(const Host& host);

}  // namespace pbprobe::ops
