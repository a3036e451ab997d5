// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What runs before and after a product where its plan says so: laying an operand out K-major or with aligned rows, and
// adding up the parts of a split k, always in the same order. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/tile.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kPassTile = 64;
constexpr int kPassThreads = 256;

// Copies rows that begin anywhere to rows that begin at multiples of 16 bytes, 16 bytes a thread from the five aligned
// words around them. Of a row's ends, which such words would leave, element by element. A warp takes pieces of a row.
template <class T>
__device__ inline void align_rows(const GpuRepack& pass) {
  constexpr int kPiece = 4 * 32 * 16;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const long long warps = static_cast<long long>(gridDim.x) * (kPassThreads / 32);
  const long long bytes = static_cast<long long>(pass.columns) * sizeof(T);
  const long long pieces = (bytes + kPiece - 1) / kPiece;
  for (long long i = blockIdx.x * (kPassThreads / 32) + threadIdx.x / 32; i < pieces * pass.rows; i += warps) {
    const long long row = i / pieces;
    const char* from = static_cast<const char*>(pass.from) + row * pass.from_leading * sizeof(T);
    char* to = static_cast<char*>(pass.to) + row * pass.to_leading * sizeof(T);
    const long long first = (i - row * pieces) * kPiece + lane * 16;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const long long at = first + j * 512;
      if (at >= bytes) break;
      const int skew = static_cast<int>(reinterpret_cast<unsigned long long>(from + at) & 3);
      if (at >= skew && at - skew + 20 <= bytes) {
        const auto* words = reinterpret_cast<const unsigned*>(from + at - skew);
        unsigned read[5];
#pragma unroll
        for (int w = 0; w < 5; ++w) read[w] = words[w];
        *reinterpret_cast<uint4*>(to + at) =
            make_uint4(__funnelshift_r(read[0], read[1], skew * 8), __funnelshift_r(read[1], read[2], skew * 8),
                       __funnelshift_r(read[2], read[3], skew * 8), __funnelshift_r(read[3], read[4], skew * 8));
      } else {
        const int there = static_cast<int>(bytes - at < 16 ? bytes - at : 16);
        *reinterpret_cast<uint4*>(to + at) = read_elements<sizeof(T)>(from + at, there);
      }
    }
  }
}

// Turns a square of the operand in shared memory. A block takes one square.
template <class T>
__device__ inline void repack(const GpuRepack& pass) {
  if (!pass.turn) {
    align_rows<T>(pass);
    return;
  }
  __shared__ T square[kPassTile][kPassTile + 4 / sizeof(T)];
  const int across = (pass.columns + kPassTile - 1) / kPassTile;
  const int row = static_cast<int>(blockIdx.x) / across * kPassTile;
  const int column = static_cast<int>(blockIdx.x) % across * kPassTile;
  const int x = static_cast<int>(threadIdx.x) % kPassTile;
  const int y = static_cast<int>(threadIdx.x) / kPassTile;
  constexpr int kStep = kPassThreads / kPassTile;
  const T* from = static_cast<const T*>(pass.from);
  T* to = static_cast<T*>(pass.to);
#pragma unroll 4
  for (int i = y; i < kPassTile; i += kStep) {
    if (column + i < pass.columns && row + x < pass.rows) {
      square[i][x] = from[(column + i) * pass.from_leading + row + x];
    }
  }
  __syncthreads();
#pragma unroll 4
  for (int i = y; i < kPassTile; i += kStep) {
    if (row + i >= pass.rows || column + x >= pass.columns) continue;
    to[(row + i) * pass.to_leading + column + x] = square[x][i];
  }
}

// C from its parts: eight columns a thread.
template <class Sum>
__device__ inline void reduce(const GpuCall& call) {
  const long long across = (call.n + 7) / 8;
  const long long all = across * call.m;
  const long long threads = static_cast<long long>(gridDim.x) * kPassThreads;
  for (long long i = static_cast<long long>(blockIdx.x) * kPassThreads + threadIdx.x; i < all; i += threads) {
    const int row = static_cast<int>(i / across);
    const int column = static_cast<int>(i % across) * 8;
    const Sum* from = static_cast<const Sum*>(call.sums) + static_cast<long long>(row) * call.n + column;
    Sum eight[8] = {};
    for (int part = 0; part < call.split; ++part) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        if (column + j < call.n) eight[j] += from[j];
      }
      from += static_cast<long long>(call.m) * call.n;
    }
    write_result<8>(call, row, column, eight);
  }
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

#define PBPROBE_PASS(name, parameter, function, type)                                                 \
  extern "C" __global__ void __launch_bounds__(256) name(PBPROBE_PARAMETER pbprobe::parameter call) { \
    pbprobe::PBPROBE_TARGET::function<type>(call);                                                    \
  }
PBPROBE_PASS(repack_1, GpuRepack, repack, unsigned char)
PBPROBE_PASS(repack_2, GpuRepack, repack, unsigned short)
PBPROBE_PASS(repack_4, GpuRepack, repack, unsigned)
PBPROBE_PASS(reduce_fp32, GpuCall, reduce, float)
PBPROBE_PASS(reduce_int32, GpuCall, reduce, int)
#undef PBPROBE_PASS
