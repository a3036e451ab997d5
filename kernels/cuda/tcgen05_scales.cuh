// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// tcgen05.mma multiplies four scales along k at once, also where k has fewer: copies both operands' scales and writes
// zeros for those behind k, whatever the padding holds (NaN times a zero operand is NaN). 256 threads.
#pragma once

#include "kernels/cuda/tcgen05.hpp"

extern "C" __global__ void __launch_bounds__(256, 4)
    tcgen05_trim_scales(const __grid_constant__ pbprobe::GpuTrimScales call) {
  constexpr long long kWords = pbprobe::kScaleTileBytes / 4;
  const long long step = 256LL * gridDim.x;
  for (const auto& one : {call.a, call.b}) {
    for (long long i = 256LL * blockIdx.x + threadIdx.x; i < one.tiles * kWords; i += step) {
      const bool last = i / kWords % call.across == call.across - 1;
      one.to[i] = one.from[i] & (last ? call.mask : ~0U);
    }
  }
}
