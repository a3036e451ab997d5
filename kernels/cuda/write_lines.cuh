// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// C from sums that lie anywhere, in rows that begin anywhere. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/tile.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// kRows × kColumns of C from row first.x and column first.y on, or with split-K of a part. Each warp writes kDeep rows
// that follow each other, its lanes neighbours, so that rows may begin anywhere; sum(i, j): the accumulator of the
// warp's row i and the lane's column j, 32 apart. No branch depends on the element: the stores of kAtOnce rows are on
// their way together.
template <int kRows, int kColumns, int kThreadsOf, int kAtOnce, class Sum>
__device__ inline void write_lines(const GpuCall& call, int2 first, const Sum& sum) {
  constexpr int kWide = kColumns / 32;
  constexpr int kDeep = kRows / (kThreadsOf / 32);
  static_assert(kColumns % 32 == 0 && kDeep * (kThreadsOf / 32) == kRows, "whole warps");
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const bool parts = call.split > 1;
  const bool raw = parts || call.c_type == kGpuInt32;
  float scales[kWide];
  float bias[kWide];
#pragma unroll
  for (int i = 0; i < kWide; ++i) {
    const int column = first.y + i * 32 + lane;
    scales[i] = !raw && call.scale_b && column < call.n ? call.scale_b[column] : 1.0F;
    bias[i] = !raw && call.bias && column < call.n ? call.bias[column] : 0.0F;
  }
  const long long leading = parts ? call.n : call.ldc;
  const long long corner = (parts ? static_cast<long long>(blockIdx.z) * call.m * call.n : 0) + first.y + lane;
  const auto write = [&](auto store) {
    const int first_row = first.x + static_cast<int>(threadIdx.x) / 32 * kDeep;
#pragma unroll kAtOnce
    for (int deep = 0; deep < kDeep; ++deep) {
      const int row = first_row + deep;
      const bool there = row < call.m;
      const float scale = !raw && call.scale_a && there ? call.scale_a[row] : 1.0F;
#pragma unroll
      for (int i = 0; i < kWide; ++i) {
        const auto all = sum(deep, i);
        const unsigned word = raw ? bits_of(all) : bits_of(static_cast<float>(all) * scale * scales[i] + bias[i]);
        if (there && first.y + i * 32 + lane < call.n) store(row * leading + corner + i * 32, word);
      }
    }
  };
  if (raw || call.c_type == kGpuFp32) {
    auto* const to = static_cast<unsigned*>(parts ? call.partials : call.c);
    write([=](long long at, unsigned word) { to[at] = word; });
  } else {
    auto* const to = static_cast<unsigned short*>(call.c);
    const bool bf16 = call.c_type == kGpuBf16;
    write([=](long long at, unsigned word) {
      const float value = __uint_as_float(word);
      to[at] = static_cast<unsigned short>(bf16 ? pack(value, value, kGpuBf16) : fp16_bits(value));
    });
  }
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
