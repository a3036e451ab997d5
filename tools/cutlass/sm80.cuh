// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GEMMs of device::Gemm for sm_80 in CUTLASS: mma.sync, with operands copied by cp.async.
#pragma once

#include <type_traits>

#include "cutlass/cutlass.h"
#include "cutlass/gemm/device/gemm.h"
#include "tools/cutlass/kernels.hpp"

template <class Input, class Output, class Sum, class Block, class Warp, class Instruction, int kStages>
int run_sm80(const PbprobeCutlassCall& call) {
  namespace gemm = cutlass::gemm;
  constexpr int kVector = 128 / cutlass::sizeof_bits<Input>::value;
  constexpr int kVectorC = 128 / cutlass::sizeof_bits<Output>::value;
  using Rows = cutlass::layout::RowMajor;
  using Columns = cutlass::layout::ColumnMajor;
  using Multiply = std::conditional_t<std::is_same_v<Input, int8_t>, cutlass::arch::OpMultiplyAddSaturate,
                                      cutlass::arch::OpMultiplyAdd>;
  using Gemm = gemm::device::Gemm<
      Input, Rows, Input, Columns, Output, Rows, Sum, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80, Block, Warp,
      Instruction, cutlass::epilogue::thread::LinearCombination<Output, kVectorC, Sum, Sum>,
      gemm::threadblock::GemmIdentityThreadblockSwizzle<8>, kStages, kVector, kVector, false, Multiply>;
  const typename Gemm::Arguments arguments({call.m, call.n, call.k}, {static_cast<const Input*>(call.a), call.k},
                                           {static_cast<const Input*>(call.b), call.k},
                                           {static_cast<const Output*>(call.c), call.n},
                                           {static_cast<Output*>(call.c), call.n}, {Sum(1), Sum(0)});
  if (const auto status = Gemm::can_implement(arguments); status != cutlass::Status::kSuccess) {
    return static_cast<int>(status);
  }
  Gemm gemm;
  return static_cast<int>(gemm(arguments, call.workspace, static_cast<cudaStream_t>(call.stream)));
}
