// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GEMMs of the CUTLASS collectives for 9.0: wgmma, with operands copied by TMA, and specialized warps.
#pragma once

#include "cutlass/cutlass.h"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/util/packed_stride.hpp"
#include "tools/cutlass/kernels.hpp"

struct Cooperative {
  using Mainloop = cutlass::gemm::KernelTmaWarpSpecializedCooperative;
  using Epilogue = cutlass::epilogue::TmaWarpSpecializedCooperative;
};
struct PingPong {
  using Mainloop = cutlass::gemm::KernelTmaWarpSpecializedPingpong;
  using Epilogue = cutlass::epilogue::TmaWarpSpecialized;
};

template <class Input, class Output, class Sum, class Block, class Cluster, class Schedule>
struct Sm90 {
  static constexpr int kVector = 128 / cutlass::sizeof_bits<Input>::value;
  static constexpr int kVectorC = 128 / cutlass::sizeof_bits<Output>::value;
  using Rows = cutlass::layout::RowMajor;
  using Columns = cutlass::layout::ColumnMajor;
  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Block, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, Sum, Sum, void, Rows, kVectorC, Output, Rows, kVectorC,
      typename Schedule::Epilogue>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Input, Rows, kVector, Input, Columns, kVector, Sum, Block,
      Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
      typename Schedule::Mainloop>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue>;
  using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

  static int run(const PbprobeCutlassCall& call) {
    using StrideA = typename Kernel::StrideA;
    using StrideB = typename Kernel::StrideB;
    using StrideD = typename Kernel::StrideD;
    typename Gemm::Arguments arguments{
        cutlass::gemm::GemmUniversalMode::kGemm,
        {call.m, call.n, call.k, 1},
        {static_cast<const Input*>(call.a), cutlass::make_cute_packed_stride(StrideA{}, {call.m, call.k, 1}),
         static_cast<const Input*>(call.b), cutlass::make_cute_packed_stride(StrideB{}, {call.n, call.k, 1})},
        {{},
         nullptr,
         {},
         static_cast<Output*>(call.c),
         cutlass::make_cute_packed_stride(StrideD{}, {call.m, call.n, 1})}};
    arguments.epilogue.thread.alpha = Sum(1);
    arguments.epilogue.thread.beta = Sum(0);
    // Query once: a query at every launch costs more than the GEMM.
    static const int sms = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(0);
    arguments.hw_info.sm_count = sms;
    if (const auto status = Gemm::can_implement(arguments); status != cutlass::Status::kSuccess) {
      return static_cast<int>(status);
    }
    if (Gemm::get_workspace_size(arguments) > call.workspace_bytes) {
      return static_cast<int>(cutlass::Status::kErrorWorkspaceNull);
    }
    Gemm gemm;
    return static_cast<int>(gemm(arguments, call.workspace, static_cast<cudaStream_t>(call.stream)));
  }
};
