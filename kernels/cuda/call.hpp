// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Arguments that the host passes to a GPU kernel by value. Included by host and device code: plain data only.
#pragma once

namespace pbprobe {

// Types of C as the device reads them: a kernel writes each of them by one symbol.
enum GpuType : int { kGpuFp32, kGpuBf16, kGpuFp16, kGpuInt32 };

struct GpuCall {
  const void* a;
  const void* b;
  void* c;
  const float* bias;     // nullptr if C has no bias
  const float* scale_a;  // nullptr if A has no scales
  const float* scale_b;  // nullptr if B has no scales
  void* partials;        // [split,m,n] of the accumulator's type, where split > 1
  long long lda, ldb, ldc;
  int m, n, k;
  int split, part;                      // split-K: parts, and the length of one
  int c_type;                           // GpuType
  int a_aligned, b_aligned, c_aligned;  // 1: every stored row begins at a multiple of 16 bytes
  int c_is_nm;                          // 1: C is stored [n,m], and a bias is [m]
};

// A pass that lays an operand out K-major with aligned rows: to[i,j] = transpose ? from[j,i] : from[i,j].
struct GpuRepack {
  const void* from;
  void* to;
  long long from_leading, to_leading;  // elements
  int rows, columns;                   // rows and columns of `to`
  int transpose;
  int blocks;  // blocks of the grid that this pass takes
};
// Up to two operands in one launch: the blocks of `second` follow the blocks of `first`.
struct GpuRepacks {
  GpuRepack first, second;
};
// Work of a block: a square to transpose, whose side has kGpuSquareBytes, or pieces of rows, one for each of eight
// warps.
constexpr int kGpuSquareBytes = 128;
constexpr int kGpuPassVectors = 4;  // 16-byte vectors of each lane

// Output of one block of a peak loop: the clock of its SM and the wall clock around the loop.
struct GpuPeakSample {
  unsigned long long begin;
  unsigned long long end;
  unsigned long long begin_ns;
  unsigned long long end_ns;
  unsigned sm;  // blocks of one SM do not begin together: its time is from the first begin to the last end
  unsigned sink;
};

}  // namespace pbprobe
