// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Arguments that the host passes to a CPU kernel. Plain data without functions: objects built with a target's flags
// include this file, and code outside them must not be able to call their functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pbprobe {

enum class CpuType : uint8_t { fp32, bf16, int8, uint8, int32 };

// One pass over columns [column, column + columns), rows [row, row + rows) and k [k_begin, k_begin + k_block) of the
// GEMM. Packed panels hold exactly this block; C is the whole matrix.
struct CpuCall {
  int64_t m, n, k;
  const void* a;
  const void* b;
  void* c;
  int64_t a_row, a_k;     // elements from A[i,k] to A[i+1,k] and to A[i,k+1]
  int64_t b_column, b_k;  // elements from B[k,j] to B[k,j+1] and to B[k+1,j]
  int64_t ldc;
  const float* bias;     // nullptr if C has no bias
  const float* scale_a;  // nullptr if A has no scales
  const float* scale_b;  // nullptr if B has no scales
  CpuType a_type, b_type, c_type;

  int64_t row, rows;
  int64_t column, columns;
  int64_t k_begin, k_block;
  bool transposed;   // m counts C's columns and n its rows: A and B have changed places (gemv.hpp)
  bool first, last;  // k-blocks: the first one writes the accumulators, the last one converts, scales and adds

  void* packed_a;  // nullptr: A is read in place
  void* packed_b;
  void* partials;  // nullptr: C holds the partial sums. Else [rows, partials_leading], accumulator's type
  int64_t partials_leading;
};

enum class CpuStep : uint8_t {
  pack_a,   // rows [first_row, first_row + rows) of the block into packed_a
  pack_b,   // columns [first_column, first_column + columns) of the block into packed_b
  compute,  // tile rows [first_row, + rows) × columns [first_column, + columns) of C
};

// Lines of A or B in their storage.
struct CpuLines {
  const char* first;      // nullptr: no lines
  int64_t count, stride;  // the stride in bytes
  int64_t bytes;          // bytes of each line
};

// Rows and columns count from the block's corner and begin at multiples of the kernel's tile.
struct CpuTask {
  CpuStep step;
  int64_t first_row, rows;
  int64_t first_column, columns;
  CpuLines ahead[2];  // compute: what will be packed next, to be fetched into the second-level cache meanwhile
};

using CpuFunction = void (*)(const CpuCall& call, const CpuTask& task);

// Runs a register-only loop; what it returns depends on every operation, so that none can be left out.
using CpuLoop = uint64_t (*)(int64_t iterations);

}  // namespace pbprobe
