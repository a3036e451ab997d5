// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// GEMM by tcgen05: CUTLASS's Sm100 collectives load both operands by TMA, accumulate in tensor memory, and take tiles
// from the hardware's scheduler. The epilogue is not CUTLASS code: bias, scales, types and odd edges work as in every
// other family. Included by host and device code. A[M,K] · B[N,K] or B[K,N] → C[M,N], rows at multiples of 16 bytes.
// Source: PTX ISA, tcgen05; CUTLASS 4.2.
//
// Shared memory at exit: the other blocks of the cluster write this block's stages by multicast and arrive at its
// barriers. CUTLASS's producers end with load_tail(), clc_pipeline.producer_tail() and accumulator_pipeline's
// producer_tail() (sm100_gemm_tma_warpspecialized.hpp): they wait until every stage was released, so no such access is
// in flight when a block exits. WriteTile has no shared memory of its own. No device here has run these kernels.
#pragma once

#include "cutlass/cutlass.h"

#include "cute/tensor.hpp"
#include "cutlass/epilogue/collective/detail.hpp"
#include "cutlass/gemm/collective/collective_mma_decl.hpp"
#include "cutlass/gemm/collective/sm100_blockscaled_mma_warpspecialized.hpp"
#include "cutlass/gemm/collective/sm100_mma_warpspecialized.hpp"

#include "cutlass/gemm/collective/collective_builder_decl.hpp"

#include "cutlass/gemm/collective/builders/sm100_blockscaled_umma_builder.inl"
#include "cutlass/gemm/collective/builders/sm100_umma_builder.inl"
#include "cutlass/gemm/kernel/gemm_universal_decl.h"
#include "cutlass/gemm/kernel/tile_scheduler.hpp"

#include "cutlass/gemm/kernel/sm100_gemm_tma_warpspecialized.hpp"
#include "kernels/cuda/tcgen05.hpp"

#ifdef __CUDACC__
#include "kernels/cuda/tile.cuh"
#endif

namespace pbprobe::PBPROBE_TARGET {
namespace {

// Operand: what CUTLASS asks for, an element or one with its scales; and its schedules for one SM and for two.
template <class Of, class Sum = float>
struct PlainTiles {
  using Element = Of;
  using Operand = Of;
  using Accumulator = Sum;
  using Class = cutlass::arch::OpClassTensorOp;
  using OneSm = cutlass::gemm::KernelTmaWarpSpecialized1SmSm100;
  using TwoSms = cutlass::gemm::KernelTmaWarpSpecialized2SmSm100;
  static constexpr bool kScaled = false;
};
using Bf16Tiles = PlainTiles<cutlass::bfloat16_t>;
using Fp16Tiles = PlainTiles<cutlass::half_t>;
using Tf32Tiles = PlainTiles<float>;  // TMA rounds to TF32
using Int8Tiles = PlainTiles<int8_t, int>;
using E4m3Tiles = PlainTiles<cutlass::float_e4m3_t>;
using E5m2Tiles = PlainTiles<cutlass::float_e5m2_t>;

// Kinds mxf8f6f4 and mxf4nvf4: a scale of each kOfScale elements along k, by tensor memory.
template <class Pair, int kElements, class One, class Two>
struct ScaledTiles {
  using Element = typename Pair::DataType;
  using Scale = typename Pair::ScaleFactorType;
  using Operand = Pair;
  using Accumulator = float;
  using Class = cutlass::arch::OpClassBlockScaledTensorOp;
  using OneSm = One;
  using TwoSms = Two;
  static constexpr bool kScaled = true;
  static constexpr int kOfScale = kElements;
};
template <class Pair>
using MxFp8Tiles = ScaledTiles<Pair, 32, cutlass::gemm::KernelTmaWarpSpecialized1SmMxf8f6f4Sm100,
                               cutlass::gemm::KernelTmaWarpSpecialized2SmMxf8f6f4Sm100>;
using MxE4m3Tiles = MxFp8Tiles<cutlass::mx_float8_t<cutlass::float_e4m3_t>>;
using MxE5m2Tiles = MxFp8Tiles<cutlass::mx_float8_t<cutlass::float_e5m2_t>>;
using MxE2m1Tiles =
    ScaledTiles<cutlass::mx_float4_t<cutlass::float_e2m1_t>, 32, cutlass::gemm::KernelTmaWarpSpecialized1SmMxf4Sm100,
                cutlass::gemm::KernelTmaWarpSpecialized2SmMxf4Sm100>;
using NvE2m1Tiles =
    ScaledTiles<cutlass::nv_float4_t<cutlass::float_e2m1_t>, 16, cutlass::gemm::KernelTmaWarpSpecialized1SmNvf4Sm100,
                cutlass::gemm::KernelTmaWarpSpecialized2SmNvf4Sm100>;

// Epilogue: each thread takes a row of 32 accumulators from tensor memory and writes it as every other family does.
template <class Accumulator>
struct WriteTile {
  using DispatchPolicy = cutlass::epilogue::Sm100NoSmemWarpSpecialized;
  using EpilogueTile = cute::Shape<cute::Int<128>, cute::Int<32>>;
  using ElementC = void;
  using ElementD = Accumulator;
  using StrideC = cute::Stride<int64_t, cute::_1, int64_t>;
  using StrideD = StrideC;
  using GmemTiledCopyC = void;
  using GmemTiledCopyD = void;
  using CopyOpT2R = cute::SM100_TMEM_LOAD_32dp32b32x;
  static constexpr int ThreadCount = 128;
  static constexpr uint32_t TmaTransactionBytes = 0;

  struct SharedStorage {};
  struct Arguments {
    GpuCall call;
  };
  using Params = Arguments;

  template <class Shape>
  static constexpr Params to_underlying_arguments(const Shape&, const Arguments& arguments, void*) {
    return arguments;
  }
  template <class Shape>
  static size_t get_workspace_size(const Shape&, const Arguments&) {
    return 0;
  }
  template <class Shape>
  static bool can_implement(const Shape&, const Arguments&) {
    return true;
  }

  // Returns, for one thread, its loader, its accumulators part by part in tensor memory, and their places in the tile.
  template <class Accumulators, class Tile>
  CUTE_HOST_DEVICE static auto share_of(const Accumulators& acc, const Tile& tile, int thread) {
    using namespace cute;
    Tensor parts = flat_divide(acc(make_coord(_, _), _0{}, _0{}), EpilogueTile{});
    const auto load = make_tmem_copy(CopyOpT2R{}, parts(_, _, _0{}, _0{}));
    const auto mine = load.get_slice(thread);
    return cute::make_tuple(load, mine.partition_S(parts),
                            mine.partition_D(flat_divide(make_identity_tensor(take<0, 2>(tile)), EpilogueTile{})));
  }

  CUTLASS_DEVICE WriteTile(const Params& given, SharedStorage&) : params(given) {}

#ifdef __CUDACC__
  template <bool kReuse = false, class Pipeline, class State, class Problem, class Tile, class Where,
            class Accumulators>
  __device__ auto operator()(Pipeline pipeline, State state, Problem, Tile tile, Where where, Accumulators acc,
                             SharedStorage&) {
    using namespace cute;
    static_assert(!kReuse, "every tile has tensor memory of its own");
    const auto [load, from, at] = share_of(acc, tile, static_cast<int>(threadIdx.x) % ThreadCount);
    Tensor held = make_tensor<Accumulator>(shape(at(_, _, _, _0{}, _0{})));
    constexpr int kParts = decltype(size<4>(from))::value;
    static_assert(decltype(size<3>(from))::value == 1 && decltype(size(held))::value % 8 == 0);
    const int row = get<0>(where) * size<0>(tile);
    const int column = get<1>(where) * size<1>(tile);
#pragma unroll 1
    for (int part = 0; part < kParts; ++part) {
      copy(load, from(_, _, _, _0{}, part), held);
      cutlass::arch::fence_view_async_tmem_load();
      if (part + 1 == kParts) {
        pipeline.consumer_release(state);
        ++state;
      }
#pragma unroll
      for (int i = 0; i < size(held); i += 8) {
        Accumulator eight[8];
#pragma unroll
        for (int j = 0; j < 8; ++j) eight[j] = held(i + j);
        const auto first = at(i, _0{}, _0{}, _0{}, part);
        write_accumulators<8, true>(params.call, row + get<0>(first), column + get<1>(first), eight);
      }
    }
    return cute::make_tuple(state);
  }
#endif

  const Params& params;
};

// One kernel. kSms: SMs that compute one tile together. A stage holds 128 bytes of k of A and of B.
template <class Type, int kSms, int kRows, int kColumns, int kDown, int kAcross, bool kBkn>
struct Tcgen05 {
  using Element = typename Type::Element;
  using Accumulator = typename Type::Accumulator;
  static constexpr bool kScaled = Type::kScaled;
  static constexpr int kTileK = 128 * 8 / cute::sizeof_bits_v<Element>;
  static constexpr int kAlign = kTileK / 8;
  // Numbers in an element as the caller counts elements: a byte holds two E2M1.
  static constexpr int kNumbers = cute::sizeof_bits_v<Element> < 8 ? 2 : 1;
  using Tile = cute::Shape<cute::Int<kRows>, cute::Int<kColumns>, cute::Int<kTileK>>;
  using Cluster = cute::Shape<cute::Int<kDown>, cute::Int<kAcross>, cute::_1>;
  using Schedule = cute::conditional_t<kSms == 2, typename Type::TwoSms, typename Type::OneSm>;
  using LayoutA = cutlass::layout::RowMajor;
  using LayoutB = cute::conditional_t<kBkn, cutlass::layout::RowMajor, cutlass::layout::ColumnMajor>;
  using Epilogue = cutlass::epilogue::collective::detail::Sm100TmaWarpSpecializedAdapter<WriteTile<Accumulator>>;
  using Stages = cutlass::gemm::collective::StageCountAutoCarveout<sizeof(typename Epilogue::SharedStorage)>;
  using Operand = typename Type::Operand;
  using Mainloop =
      typename cutlass::gemm::collective::CollectiveBuilder<cutlass::arch::Sm100, typename Type::Class, Operand,
                                                            LayoutA, kAlign, Operand, LayoutB, kAlign, Accumulator,
                                                            Tile, Cluster, Stages, Schedule>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue, void>;
  using Params = typename Kernel::Params;
  static_assert(sizeof(Params) <= Tcgen05Launch::kMostBytes);

  static constexpr int kAccumulators = Kernel::AccumulatorPipelineStageCount;

  // Columns of tensor memory that one stage's scales take: four hold four scales along k of 128 rows.
  static constexpr int scale_columns() {
    if constexpr (kScaled) return kTileK / Type::kOfScale * (kRows / kSms + kColumns) / 128;
    return 0;
  }

  static constexpr Tcgen05Layout layout() {
    using MainParams = typename Mainloop::Params;
    constexpr int kMain = __builtin_offsetof(Params, mainloop);
    Tcgen05Layout made{int{sizeof(Params)},
                       int{__builtin_offsetof(Params, problem_shape)},
                       kMain + int{__builtin_offsetof(MainParams, tma_load_a)},
                       kMain + int{__builtin_offsetof(MainParams, tma_load_b)},
                       0,
                       0,
                       int{__builtin_offsetof(Params, epilogue)},
                       int{__builtin_offsetof(Params, scheduler)},
                       Kernel::SharedStorageSize,
                       int{Kernel::MaxThreadsPerBlock},
                       Mainloop::DispatchPolicy::Stages,
                       kAccumulators,
                       scale_columns()};
    if constexpr (kScaled) {
      made.map_scales_a = kMain + int{__builtin_offsetof(MainParams, tma_load_sfa)};
      made.map_scales_b = kMain + int{__builtin_offsetof(MainParams, tma_load_sfb)};
    }
    return made;
  }
};

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
