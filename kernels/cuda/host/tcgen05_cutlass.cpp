// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Arguments of the tcgen05 kernels, made by CUTLASS's host code with the host's compiler. No CUDA library is linked:
// the caller passes the one driver function that CUTLASS needs, and CUTLASS never reaches the runtime functions that it
// names.
#include <cuda.h>
#include <cuda_runtime.h>
#include <device_launch_parameters.h>

#include <cstring>

#include "kernels/cuda/tcgen05.hpp"

// Without nvcc some of CUTLASS's inline device functions find no declarations of what they call; none is called here.
void __syncthreads();
void __syncwarp(unsigned = 0);
unsigned __shfl_sync(unsigned, unsigned, int, int = 32);

#include "cutlass/arch/wmma.h"  // before a version is named: with one it wants nvcc's own types

// Macros that decide on the layout of parameters, with the values that nvcc gives to CUTLASS.
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define CUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL

namespace {

// CUTLASS asks a global function for the map, and prints if that fails. CUTLASS gets success; the caller gets the
// errors.
struct Encoding {
  pbprobe::EncodeTiled encode = nullptr;
  int error = 0;
};
thread_local Encoding encoding;

CUresult encode_given(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                      const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                      const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                      CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  const int result =
      encoding.encode(map, type, rank, address, sizes, strides, box, steps, interleave, swizzle, promotion, fill);
  if (encoding.error == 0) encoding.error = result;
  return CUDA_SUCCESS;
}

}  // namespace

#define cuTensorMapEncodeTiled encode_given
#define cudaGetDevice(...) cudaErrorNotSupported
#define cudaDeviceGetAttribute(...) cudaErrorNotSupported
#define cudaGetLastError(...) cudaErrorNotSupported
#define cudaGetErrorString(...) ""
#define cudaMemsetAsync(...) cudaErrorNotSupported
#define PBPROBE_TARGET tcgen05_host
#include "kernels/cuda/tcgen05_types.cuh"

namespace pbprobe {
namespace {

using tcgen05_host::Bf16Tiles;
using tcgen05_host::E4m3Tiles;
using tcgen05_host::E5m2Tiles;
using tcgen05_host::Fp16Tiles;
using tcgen05_host::Int8Tiles;
using tcgen05_host::MxE2m1Tiles;
using tcgen05_host::MxE4m3Tiles;
using tcgen05_host::MxE5m2Tiles;
using tcgen05_host::NvE2m1Tiles;
using tcgen05_host::Tf32Tiles;

template <class One>
typename One::Kernel::Arguments arguments_of(const GpuCall& call, const GpuBlockScales& scales, int raster_group) {
  typename One::Kernel::Arguments arguments{};
  arguments.mode = cutlass::gemm::GemmUniversalMode::kGemm;
  arguments.problem_shape = {call.m, call.n, call.k * One::kNumbers, 1};
  using Element = typename One::Element;
  auto& mainloop = arguments.mainloop;
  mainloop.ptr_A = static_cast<const Element*>(call.a);
  mainloop.ptr_B = static_cast<const Element*>(call.b);
  cute::get<0>(mainloop.dA) = call.lda * One::kNumbers;
  constexpr bool kBkn = std::is_same_v<typename One::LayoutB, cutlass::layout::RowMajor>;
  cute::get<kBkn ? 1 : 0>(mainloop.dB) = call.ldb * One::kNumbers;
  if constexpr (One::kScaled) {
    using Scales = typename One::Mainloop::Sm1xxBlkScaledConfig;
    mainloop.ptr_SFA = static_cast<decltype(mainloop.ptr_SFA)>(scales.a);
    mainloop.ptr_SFB = static_cast<decltype(mainloop.ptr_SFB)>(scales.b);
    mainloop.layout_SFA = Scales::tile_atom_to_shape_SFA(arguments.problem_shape);
    mainloop.layout_SFB = Scales::tile_atom_to_shape_SFB(arguments.problem_shape);
  }
  arguments.epilogue.call = call;
  arguments.scheduler.max_swizzle_size = raster_group;
  return arguments;
}

template <class One>
int prepare(const GpuCall& call, const GpuBlockScales& scales, int raster_group, EncodeTiled encode,
            Tcgen05Launch& launch) {
  encoding = {encode, 0};
  const auto params = One::Kernel::to_underlying_arguments(arguments_of<One>(call, scales, raster_group), nullptr);
  const dim3 grid = One::Kernel::get_grid_shape(params);
  std::memcpy(launch.parameters.data(), &params, sizeof params);
  launch.grid = {grid.x, grid.y, grid.z};
  return encoding.error;
}

template <class One>
int64_t workspace(int m, int n, int k) {
  GpuCall call{};
  call.m = m;
  call.n = n;
  call.k = k;
  return static_cast<int64_t>(One::Kernel::get_workspace_size(arguments_of<One>(call, {}, 1)));
}

template <class One>
std::array<int, 2> where(int thread, int part, int i) {
  using namespace cute;
  using Mma = typename One::Mainloop::TiledMma;
  const auto acc = Mma::make_fragment_C(partition_shape_C(Mma{}, take<0, 2>(typename One::Tile{})));
  using Tile = typename One::Kernel::CtaShape_MNK;
  const auto at = get<2>(tcgen05_host::WriteTile<typename One::Accumulator>::share_of(acc, Tile{}, thread))(
      i, _0{}, _0{}, _0{}, part);
  return {get<0>(at), get<1>(at)};
}

template <class One>
constexpr Tcgen05Kernel row(std::string_view symbol, int sms, int rows, int columns, int down, int across) {
  // Two SMs share a tile: each has half of it in its tensor memory.
  return {symbol,
          {rows, columns, One::kTileK / One::kNumbers},
          {down, across},
          sms,
          columns * One::kAccumulators + One::scale_columns(),
          One::layout(),
          prepare<One>,
          where<One>,
          workspace<One>};
}

#define PBPROBE_TCGEN05_PAIRS
#define PBPROBE_TCGEN05_WIDE
#define PBPROBE_TCGEN05_INT8
#define PBPROBE_TCGEN05_BLOCKS
constexpr Tcgen05Kernel kKernels[] = {
#define PBPROBE_TCGEN05(name, type, sms, rows, columns, down, across, bkn) \
  row<tcgen05_host::Tcgen05<type, sms, rows, columns, down, across, bkn>>(#name, sms, rows, columns, down, across),
#include "kernels/cuda/tcgen05.inc"
#undef PBPROBE_TCGEN05
};

template <class Element, class Sum>
unsigned instruction_of(bool wide) {
  using cute::UMMA::make_instr_desc;
  constexpr auto kAlong = cute::UMMA::Major::K;
  return (wide ? make_instr_desc<Element, Element, Sum, 128, 256, kAlong, kAlong>()
               : make_instr_desc<Element, Element, Sum, 128, 16, kAlong, kAlong>())
      .desc_;
}

template <class Element, class Scale>
unsigned block_instruction_of(bool wide) {
  using cute::UMMA::make_instr_desc_block_scaled;
  constexpr auto kAlong = cute::UMMA::Major::K;
  return (wide ? make_instr_desc_block_scaled<Element, Element, float, Scale, 128, 256, kAlong, kAlong>()
               : make_instr_desc_block_scaled<Element, Element, float, Scale, 128, 16, kAlong, kAlong>())
      .desc_;
}

}  // namespace

unsigned made_instruction(std::string_view type, bool wide) {
  if (type == "bf16") return instruction_of<cutlass::bfloat16_t, float>(wide);
  if (type == "fp16") return instruction_of<cutlass::half_t, float>(wide);
  if (type == "tf32") return instruction_of<cutlass::tfloat32_t, float>(wide);
  if (type == "e4m3") return instruction_of<cutlass::float_e4m3_t, float>(wide);
  if (type == "e5m2") return instruction_of<cutlass::float_e5m2_t, float>(wide);
  if (type == "int8") return instruction_of<int8_t, int>(wide);
  using E8m0 = cutlass::float_ue8m0_t;
  if (type == "mx_e4m3") return block_instruction_of<cutlass::float_e4m3_t, E8m0>(wide);
  if (type == "mx_e5m2") return block_instruction_of<cutlass::float_e5m2_t, E8m0>(wide);
  if (type == "mx_e2m1") return block_instruction_of<cutlass::float_e2m1_t, E8m0>(wide);
  if (type == "nv_e2m1") return block_instruction_of<cutlass::float_e2m1_t, cutlass::float_ue4m3_t>(wide);
  return 0;
}

unsigned long long made_lines(unsigned address) {
  cute::UMMA::SmemDescriptor lines;
  lines.desc_ = 0;
  lines.start_address_ = static_cast<uint16_t>(address >> 4);
  lines.leading_byte_offset_ = 1;
  lines.stride_byte_offset_ = 8 * 128 >> 4;
  lines.version_ = 1;
  lines.layout_type_ = static_cast<uint8_t>(cute::UMMA::LayoutType::SWIZZLE_128B);
  return lines.desc_;
}

// The linker finds this function if this file is in the build (kernels/cuda/host/tcgen05.cpp).
std::span<const Tcgen05Kernel> made_by_cutlass() {
  return kKernels;
}

}  // namespace pbprobe
