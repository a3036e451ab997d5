// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Kernel for which sm103 has no instruction: CUTLASS's INT8 collective compiles there into a trap. The census must
// report the trap (tests/kernels/tcgen05_census_test.cpp).
#define PBPROBE_TARGET sm103
#include "kernels/cuda/tcgen05_types.cuh"

using Planted = pbprobe::sm103::Tcgen05<pbprobe::sm103::Int8Tiles, 2, 256, 128, 2, 1, false>;

extern "C" __global__ void __launch_bounds__(Planted::Kernel::MaxThreadsPerBlock, 1)
    tcgen05_int8_256x128_nt(const __grid_constant__ Planted::Params params) {
  extern __shared__ char shared[];
  Planted::Kernel kernel;
  kernel(params, shared);
}
