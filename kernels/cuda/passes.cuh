// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Passes before and after a GEMM where its plan asks for them: transposing an operand to K-major or aligning its rows,
// and the reduction of split-K, always in the same order. Family header: see tile.cuh.
#pragma once

#include "kernels/cuda/pdl.cuh"
#include "kernels/cuda/unaligned.cuh"

namespace pbprobe::PBPROBE_TARGET {
namespace {

constexpr int kPassThreads = 256;
constexpr int kPassVectors = kGpuPassVectors;

// Copies unaligned rows to rows that begin at multiples of 16 bytes: a thread writes 16 bytes from the two
// aligned vectors around them, of which its neighbour read the second. Where such vectors would leave the operand,
// element by element. A warp takes one piece of a row, all of it under way at once.
template <class T>
__device__ inline void align_rows(const GpuRepack& pass, unsigned block) {
  constexpr int kStep = 32 * 16;
  constexpr int kPiece = kPassVectors * kStep;
  const long long bytes = static_cast<long long>(pass.columns) * sizeof(T);
  const unsigned pieces = static_cast<unsigned>((bytes + kPiece - 1) / kPiece);
  const unsigned piece = block * (kPassThreads / 32) + threadIdx.x / 32;
  const unsigned row = piece / pieces;
  if (row >= static_cast<unsigned>(pass.rows)) return;
  const Extent all(pass.from, pass.rows, pass.from_leading, pass.columns, sizeof(T));
  const long long first = static_cast<long long>(piece - row * pieces) * kPiece + threadIdx.x % 32 * 16;
  const char* from = all.begin + row * pass.from_leading * sizeof(T) + first;
  char* to = static_cast<char*>(pass.to) + row * pass.to_leading * sizeof(T) + first;
  const int shift = static_cast<int>(reinterpret_cast<unsigned long long>(from) % 16);
  const char* around = from - shift;
  bool inside = around >= all.begin;
#pragma unroll
  for (int i = 0; i < kPassVectors; ++i) {
    inside = inside && (first + i * kStep >= bytes || around + i * kStep + 32 <= all.end);
  }
  if (__all_sync(0xffffffffU, inside)) {
    uint4 low[kPassVectors + 1] = {};
    const bool leads = threadIdx.x % 32 == 0;
#pragma unroll
    for (int i = 0; i <= kPassVectors; ++i) {
      // The piece before may end in a vector in which none begins.
      if ((i < kPassVectors || leads) && first + i * kStep < bytes + 16) {
        low[i] = *reinterpret_cast<const uint4*>(around + i * kStep);
      }
    }
    const int next = (static_cast<int>(threadIdx.x) + 1) % 32;
#pragma unroll
    for (int i = 0; i < kPassVectors; ++i) {
      uint4 high = leads ? low[i + 1] : low[i];
      high.x = __shfl_sync(0xffffffffU, high.x, next);
      high.y = __shfl_sync(0xffffffffU, high.y, next);
      high.z = __shfl_sync(0xffffffffU, high.z, next);
      high.w = __shfl_sync(0xffffffffU, high.w, next);
      const long long left = bytes - first - i * kStep;
      if (left > 0) {
        *reinterpret_cast<uint4*>(to + i * kStep) =
            first_bytes(shifted(low[i], high, shift), static_cast<int>(min(left, 16LL)));
      }
    }
    return;
  }
#pragma unroll 1
  for (int i = 0; i < kPassVectors && first + i * kStep < bytes; ++i) {
    const long long left = bytes - first - i * kStep;
    *reinterpret_cast<uint4*>(to + i * kStep) =
        read_elements<sizeof(T)>(from + i * kStep, static_cast<int>(left < 16 ? left : 16));
  }
}

// Words of neighbours along the rows of `to`, from as many vectors of neighbours along its columns.
__device__ inline void transpose_words(const uint4 (&rows)[4], unsigned (&words)[16]) {
  const auto four = [&](unsigned a, unsigned b, unsigned c, unsigned d, int at) {
    const unsigned low_ab = __byte_perm(a, b, 0x5140);
    const unsigned low_cd = __byte_perm(c, d, 0x5140);
    const unsigned high_ab = __byte_perm(a, b, 0x7362);
    const unsigned high_cd = __byte_perm(c, d, 0x7362);
    words[at] = __byte_perm(low_ab, low_cd, 0x5410);
    words[at + 1] = __byte_perm(low_ab, low_cd, 0x7632);
    words[at + 2] = __byte_perm(high_ab, high_cd, 0x5410);
    words[at + 3] = __byte_perm(high_ab, high_cd, 0x7632);
  };
  four(rows[0].x, rows[1].x, rows[2].x, rows[3].x, 0);
  four(rows[0].y, rows[1].y, rows[2].y, rows[3].y, 4);
  four(rows[0].z, rows[1].z, rows[2].z, rows[3].z, 8);
  four(rows[0].w, rows[1].w, rows[2].w, rows[3].w, 12);
}
__device__ inline void transpose_words(const uint4 (&rows)[2], unsigned (&words)[8]) {
  const auto two = [&](unsigned a, unsigned b, int at) {
    words[at] = __byte_perm(a, b, 0x5410);
    words[at + 1] = __byte_perm(a, b, 0x7632);
  };
  two(rows[0].x, rows[1].x, 0);
  two(rows[0].y, rows[1].y, 2);
  two(rows[0].z, rows[1].z, 4);
  two(rows[0].w, rows[1].w, 6);
}
__device__ inline void transpose_words(const uint4 (&rows)[1], unsigned (&words)[4]) {
  words[0] = rows[0].x;
  words[1] = rows[0].y;
  words[2] = rows[0].z;
  words[3] = rows[0].w;
}

// Transposes a square of 128 bytes by 128 in shared memory. A thread reads 16 bytes of as many stored rows as a word
// has elements, and stores words of what follows each other once it is transposed. The chunks of 16 bytes of a
// transposed row are permuted to avoid bank conflicts of both.
template <class T>
__device__ inline void transpose(const GpuRepack& pass, unsigned block) {
  constexpr int kElement = sizeof(T);
  constexpr int kSide = kGpuSquareBytes / kElement;
  constexpr int kDeep = 4 / kElement;   // elements of a word
  constexpr int kWide = 16 / kElement;  // elements of a 16-byte chunk
  __shared__ uint4 square[kSide * 8];
  const unsigned down = (pass.rows + kSide - 1) / kSide;
  const int first_row = static_cast<int>(block % down) * kSide;  // blocks that follow each other read on
  const int first_column = static_cast<int>(block / down) * kSide;
  const int chunk = static_cast<int>(threadIdx.x) % 8;
  const int word = static_cast<int>(threadIdx.x) / 8;
  const Extent all(pass.from, pass.columns, pass.from_leading, pass.rows, kElement);
  const int row = first_row + chunk * kWide;
  const int column = first_column + word * kDeep;
  const int there = min(pass.rows - row, kWide) * kElement;
  const char* from = all.begin + (column * pass.from_leading + row) * kElement;
  const long long stride = pass.from_leading * kElement;
  uint4 rows[kDeep] = {};
  if (there == 16 && ((reinterpret_cast<unsigned long long>(all.begin) | stride) & 15) == 0) {
#pragma unroll
    for (int i = 0; i < kDeep; ++i) {
      if (column + i < pass.columns) rows[i] = *reinterpret_cast<const uint4*>(from + i * stride);
    }
  } else if (there > 0) {
#pragma unroll
    for (int i = 0; i < kDeep; ++i) {
      if (column + i < pass.columns) rows[i] = read_unaligned<T>(from + i * stride, all, there);
    }
  }
  unsigned words[kWide];
  transpose_words(rows, words);
  const unsigned at = shared_address(square) + (chunk * kWide * 8 + (word / 4 ^ chunk)) * 16 + word % 4 * 4;
#pragma unroll
  for (int i = 0; i < kWide; ++i) asm volatile("st.shared.b32 [%0], %1;" ::"r"(at + i * 128), "r"(words[i]) : "memory");
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kSide * 8 / kPassThreads; ++i) {
    const int line = (i * kPassThreads + static_cast<int>(threadIdx.x)) / 8;
    const int out = first_column + chunk * kWide;
    if (first_row + line >= pass.rows || out >= pass.columns) continue;
    char* to = static_cast<char*>(pass.to) + ((first_row + line) * pass.to_leading + out) * kElement;
    *reinterpret_cast<uint4*>(to) = square[line * 8 + (chunk ^ line / kWide)];
  }
}

// One operand or two, one after the other.
template <class T>
__device__ inline void repack(const GpuRepacks& passes) {
  const bool second = blockIdx.x >= static_cast<unsigned>(passes.first.blocks);
  const GpuRepack pass = second ? passes.second : passes.first;
  const unsigned block = second ? blockIdx.x - static_cast<unsigned>(passes.first.blocks) : blockIdx.x;
  launch_dependents();
  wait_on_dependencies();
  if (pass.transpose) {
    transpose<T>(pass, block);
  } else {
    align_rows<T>(pass, block);
  }
}

// C from its parts, an element a thread: neighbours read neighbours of each part.
template <class Accumulator>
__device__ inline void reduce(const GpuCall& call) {
  constexpr int kTogether = 8;  // parts that are on their way at once
  const long long all = static_cast<long long>(call.m) * call.n;
  const long long threads = static_cast<long long>(gridDim.x) * kPassThreads;
  launch_dependents();
  wait_on_dependencies();
  for (long long i = static_cast<long long>(blockIdx.x) * kPassThreads + threadIdx.x; i < all; i += threads) {
    const Accumulator* from = static_cast<const Accumulator*>(call.partials) + i;
    Accumulator sum = 0;
    for (int part = 0; part < call.split; part += kTogether, from += kTogether * all) {
      Accumulator some[kTogether];
#pragma unroll
      for (int j = 0; j < kTogether; ++j) some[j] = part + j < call.split ? from[j * all] : Accumulator{0};
#pragma unroll
      for (int j = 0; j < kTogether; ++j) sum += some[j];
    }
    const long long line = all <= 0xffffffffLL ? static_cast<unsigned>(i) / static_cast<unsigned>(call.n) : i / call.n;
    const int row = static_cast<int>(line);
    const int column = static_cast<int>(i - line * call.n);
    const long long index = call.c_is_nm ? column * call.ldc + row : row * call.ldc + column;
    write_element(call, index, row, column, call.c_is_nm ? row : column, sum);
  }
}

}  // namespace
}  // namespace pbprobe::PBPROBE_TARGET

#define PBPROBE_PASS(name, parameter, function, type)                                                 \
  extern "C" __global__ void __launch_bounds__(256) name(PBPROBE_PARAMETER pbprobe::parameter call) { \
    pbprobe::PBPROBE_TARGET::function<type>(call);                                                    \
  }
PBPROBE_PASS(repack_1, GpuRepacks, repack, unsigned char)
PBPROBE_PASS(repack_2, GpuRepacks, repack, unsigned short)
PBPROBE_PASS(repack_4, GpuRepacks, repack, unsigned)
PBPROBE_PASS(reduce_fp32, GpuCall, reduce, float)
PBPROBE_PASS(reduce_int32, GpuCall, reduce, int)
#undef PBPROBE_PASS
