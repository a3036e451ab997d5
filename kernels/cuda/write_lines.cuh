// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Stores of C from sums at any place, to rows that begin at any address. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/tile.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// An element of C: four bytes as they are, or a float rounded to two.
__device__ inline void store_element(unsigned* to, unsigned word, int) {
  *to = word;
}
__device__ inline void store_element(unsigned short* to, unsigned word, int type) {
  const float value = __uint_as_float(word);
  *to = static_cast<unsigned short>(type == kGpuBf16 ? pack(value, value, kGpuBf16) : fp16_bits(value));
}

template <int kRows, int kColumns, int kThreadsOf, int kAtOnce, class Element, class Sum>
__device__ inline void write_lines_to(Element* to, const GpuCall& call, int2 first, const Sum& sum) {
  constexpr int kWide = kColumns / 32;
  constexpr int kDeep = kRows / (kThreadsOf / 32);
  static_assert(kColumns % 32 == 0 && kDeep * (kThreadsOf / 32) == kRows, "whole warps");
  const bool parts = call.split > 1;
  const bool raw = parts || call.c_type == kGpuInt32;
  const int first_column = first.y + static_cast<int>(threadIdx.x) % 32;
  float scales[kWide];
  float bias[kWide];
#pragma unroll
  for (int i = 0; i < kWide; ++i) {
    const int column = first_column + i * 32;
    scales[i] = !raw && call.scale_b && column < call.n ? call.scale_b[column] : 1.0F;
    bias[i] = !raw && call.bias && column < call.n ? call.bias[column] : 0.0F;
  }
  const long long leading = parts ? call.n : call.ldc;
  to += (parts ? static_cast<long long>(blockIdx.z) * call.m * call.n : 0) + first_column;
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
      if (there && first_column + i * 32 < call.n) store_element(to + row * leading + i * 32, word, call.c_type);
    }
  }
}

// kRows × kColumns of C from row first.x and column first.y on, or with split-K of a part. Each warp writes rows that
// follow each other, its lanes neighbours, so that rows may begin anywhere; sum(i, j): the accumulator of the warp's
// row i and the lane's column j, 32 apart. No branch depends on the element: the stores of kAtOnce rows are on their
// way together.
template <int kRows, int kColumns, int kThreadsOf, int kAtOnce, class Sum>
__device__ inline void write_lines(const GpuCall& call, int2 first, const Sum& sum) {
  if (call.split > 1 || call.c_type == kGpuInt32 || call.c_type == kGpuFp32) {
    auto* const to = static_cast<unsigned*>(call.split > 1 ? call.partials : call.c);
    write_lines_to<kRows, kColumns, kThreadsOf, kAtOnce>(to, call, first, sum);
  } else {
    write_lines_to<kRows, kColumns, kThreadsOf, kAtOnce>(static_cast<unsigned short*>(call.c), call, first, sum);
  }
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
