// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The kernels of tcgen05.inc that the target's file asks for, each beside what its host must know of it. Family header:
// the file defines PBPROBE_TARGET and the groups.
#pragma once

#include "kernels/cuda/tcgen05_types.cuh"
#ifdef PBPROBE_TCGEN05_BLOCKS
#include "kernels/cuda/tcgen05_scales.cuh"
#endif

#define PBPROBE_TCGEN05(name, type, sms, rows, columns, down, across, bkn)                                   \
  namespace pbprobe::PBPROBE_TARGET {                                                                        \
  namespace {                                                                                                \
  using name = Tcgen05<type, sms, rows, columns, down, across, bkn>;                                         \
  }                                                                                                          \
  }                                                                                                          \
  extern "C" __device__ pbprobe::Tcgen05Layout layout_##name = pbprobe::PBPROBE_TARGET::name::layout();      \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::name::Kernel::MaxThreadsPerBlock, 1) \
      name(const __grid_constant__ pbprobe::PBPROBE_TARGET::name::Params params) {                           \
    extern __shared__ char shared[];                                                                         \
    pbprobe::PBPROBE_TARGET::name::Kernel kernel;                                                            \
    kernel(params, shared);                                                                                  \
  }
#include "kernels/cuda/tcgen05.inc"
#undef PBPROBE_TCGEN05
