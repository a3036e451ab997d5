// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What the host hands a CPU kernel. Plain data without functions: objects built with a target's flags include this
// file, and nothing of theirs may be callable from elsewhere.
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
  const float* bias;     // null: none
  const float* scale_a;  // null: none
  const float* scale_b;  // null: none
  CpuType a_type, b_type, c_type;

  int64_t row, rows;
  int64_t column, columns;
  int64_t k_begin, k_block;
  bool transposed;   // m counts C's columns and n its rows: A and B have changed places (gemv.hpp)
  bool first, last;  // of the k-blocks: the first one writes the accumulators, the last one converts, scales and adds

  void* packed_a;  // null: read in place
  void* packed_b;
  void* partials;  // null: partial sums live in C. Else [rows, partials_leading], of the accumulator's type
  int64_t partials_leading;
};

enum class CpuStep : uint8_t {
  pack_a,   // rows [first_row, first_row + rows) of the block into packed_a
  pack_b,   // columns [first_column, first_column + columns) of the block into packed_b
  compute,  // that part of C
};

// Lines of A or B as they lie.
struct CpuLines {
  const char* first;      // null: none
  int64_t count, stride;  // the stride in bytes
  int64_t bytes;          // of each
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
