// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// 16 unaligned bytes, from the two aligned vectors around them. Family header: see tile.cuh.
// Source: CUDA C++ Programming Guide, size and alignment of accesses; __funnelshift_r.
#pragma once

#include "kernels/cuda/tile.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

// The bytes of an operand: nothing else is read.
struct Extent {
  const char* begin;
  const char* end;
  __device__ explicit Extent(const void* from, long long rows, long long leading, long long columns, int element)
      : begin(static_cast<const char*>(from)), end(begin + ((rows - 1) * leading + columns) * element) {}
};

// 16 bytes from byte `shift` of `low` on, continued in `high`.
__device__ inline uint4 shifted(uint4 low, uint4 high, int shift) {
  unsigned words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (int i = 0; i < 6; ++i) words[i] = shift & 8 ? words[i + 2] : words[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) words[i] = shift & 4 ? words[i + 1] : words[i];
  const int bits = shift % 4 * 8;
  return make_uint4(__funnelshift_r(words[0], words[1], bits), __funnelshift_r(words[1], words[2], bits),
                    __funnelshift_r(words[2], words[3], bits), __funnelshift_r(words[3], words[4], bits));
}

__device__ inline unsigned first_bytes(unsigned word, int count) {
  return count >= 4 ? word : count <= 0 ? 0 : word & ((1U << count * 8) - 1);
}
// The first `count` bytes, and zeros.
__device__ inline uint4 first_bytes(uint4 four, int count) {
  if (count >= 16) return four;
  return make_uint4(first_bytes(four.x, count), first_bytes(four.y, count - 4), first_bytes(four.z, count - 8),
                    first_bytes(four.w, count - 12));
}

// 16 bytes of the operand from any address.
template <class T>
__device__ inline uint4 read_unaligned(const char* from, const Extent& all, int there) {
  const int shift = static_cast<int>(reinterpret_cast<unsigned long long>(from) % 16);
  const char* around = from - shift;
  if (around < all.begin || around + 32 > all.end) return read_elements<sizeof(T)>(from, there);
  const auto* vectors = reinterpret_cast<const uint4*>(around);
  return shifted(vectors[0], vectors[1], shift);
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET
