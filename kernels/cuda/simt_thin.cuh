// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
// FP32 for small K: bound by writing C, whose rows begin anywhere. A[M,K] or [K,M], B[N,K] or [K,N] → C[M,N].
// Source: PTX ISA, fma.rn.f32. Family header: see tile.cuh.
#ifndef PBPROBE_THIN_BLOCKS
#define PBPROBE_THIN_BLOCKS 3  // blocks per SM
#endif
#pragma once

#include "kernels/cuda/pdl.cuh"
#include "kernels/cuda/write_lines.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kThinThreads = 256;
constexpr int kThinRows = 64;      // rows of a block; a warp computes eight
constexpr int kThinColumns = 128;  // four of each lane, 32 apart: a warp writes neighbours
constexpr int kThinK = 32;         // k of a stage
constexpr int kThinPad = 4;

// `count` of k, at most kThinK, of one operand's lines, element by element.
template <int kLines, bool kKMajor>
__device__ inline void load_thin(float (&shared)[kThinK][kLines + kThinPad], const void* operand, long long leading,
                                 int first_line, int lines, int k, int count) {
  const int there = min(lines - first_line, kLines);
  const float* from = static_cast<const float*>(operand);
  int line;
  int deep;
  if constexpr (kKMajor) {
    line = static_cast<int>(threadIdx.x) / count;
    deep = static_cast<int>(threadIdx.x) % count;
    const int more = kThinThreads / count;
    const int rest = kThinThreads % count;
#pragma unroll 4
    for (; line < there; line += more, deep += rest) {
      if (deep >= count) {
        deep -= count;
        if (++line >= there) break;
      }
      shared[deep][line] = __ldg(from + (first_line + line) * leading + k + deep);
    }
  } else {
    line = static_cast<int>(threadIdx.x) % kLines;
    deep = static_cast<int>(threadIdx.x) / kLines;
#pragma unroll 4
    for (; deep < count; deep += kThinThreads / kLines) {
      if (line < there) shared[deep][line] = __ldg(from + (k + deep) * leading + first_line + line);
    }
  }
}

template <bool kAkm, bool kBnk>
__device__ inline void thin_gemm(const GpuCall& call) {
  __shared__ __align__(16) float shared_a[kThinK][kThinRows + kThinPad];
  __shared__ __align__(16) float shared_b[kThinK][kThinColumns + kThinPad];
  const int2 first = tile_corner<kThinRows, kThinColumns>(call);
  const int2 range = k_range(call);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int my_row = static_cast<int>(threadIdx.x) / 32 * 8;
  float acc[8][4] = {};
  launch_dependents();
  wait_on_dependencies();
#pragma unroll 1
  for (int k = 0; k < range.y; k += kThinK) {
    const int count = min(range.y - k, kThinK);
    if (k > 0) __syncthreads();
    load_thin<kThinRows, !kAkm>(shared_a, call.a, call.lda, first.x, call.m, range.x + k, count);
    load_thin<kThinColumns, kBnk>(shared_b, call.b, call.ldb, first.y, call.n, range.x + k, count);
    __syncthreads();
#pragma unroll 4
    for (int d = 0; d < count; ++d) {
      const float4 low = *reinterpret_cast<const float4*>(&shared_a[d][my_row]);
      const float4 high = *reinterpret_cast<const float4*>(&shared_a[d][my_row + 4]);
      const float rows[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float column = shared_b[d][j * 32 + lane];
#pragma unroll
        for (int i = 0; i < 8; ++i) acc[i][j] = fmaf(rows[i], column, acc[i][j]);
      }
    }
  }
  write_lines<kThinRows, kThinColumns, kThinThreads, 8>(call, first, [&](int i, int j) { return acc[i][j]; });
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

#define PBPROBE_THIN_KERNEL(layout, a_km, b_nk)                                                            \
  extern "C" __global__ void __launch_bounds__(pbprobe::PBPROBE_TARGET::kThinThreads, PBPROBE_THIN_BLOCKS) \
      gemm_fp32_64x128_##layout(PBPROBE_PARAMETER pbprobe::GpuCall call) {                                 \
    pbprobe::PBPROBE_TARGET::thin_gemm<a_km, b_nk>(call);                                                  \
  }
PBPROBE_THIN_KERNEL(nt, false, true)
PBPROBE_THIN_KERNEL(nn, false, false)
PBPROBE_THIN_KERNEL(tn, true, false)
PBPROBE_THIN_KERNEL(tt, true, true)
#undef PBPROBE_THIN_KERNEL
