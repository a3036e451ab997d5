// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The problem that every kernel solves: C[m,n] = op(A) · op(B), row by row in memory, then scaled and biased:
//   C[i,j] = scale_a[i] · scale_b[j] · Σ_k A[i,k] · B[k,j] + bias[j]
// Block-scaled operands are multiplied by the scales of their blocks first (BlockScale).
// Any size from 0 on works; k = 0 writes zeros (plus the bias).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/dtype.hpp"
#include "core/fields.hpp"
#include "core/result.hpp"

namespace pbprobe {

[[nodiscard]] constexpr int64_t divide_up(int64_t a, int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}
[[nodiscard]] constexpr int64_t round_up(int64_t a, int64_t b) {
  return divide_up(a, b) * b;
}

// Storage of A and B. n: as the GEMM reads the operand; t: transposed. nn.Linear stores its weight as B[n,k].
enum class Layout : uint8_t {
  nt,  // A[m,k] B[n,k]
  nn,  // A[m,k] B[k,n]
  tn,  // A[k,m] B[k,n]
  tt,  // A[k,m] B[n,k]
};

// Reports whether A is stored [k,m].
[[nodiscard]] constexpr bool a_is_km(Layout layout) {
  return layout == Layout::tn || layout == Layout::tt;
}
// Reports whether B is stored [n,k].
[[nodiscard]] constexpr bool b_is_nk(Layout layout) {
  return layout == Layout::nt || layout == Layout::tt;
}

// One GEMM: C = A · B with sizes, storage, types and optional vectors; no pointers.
struct Problem {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  Layout layout = Layout::nt;
  // Leading dimensions: elements from one stored row to the next.
  int64_t lda = 0;
  int64_t ldb = 0;
  int64_t ldc = 0;
  DType a = DType::fp32;
  DType b = DType::fp32;
  DType accumulator = DType::fp32;
  DType c = DType::fp32;
  bool c_is_nm =
      false;  // C is stored [n,m], and a bias is [m]. GPU, small M: see make_swapped_problem() in choose.cpp.
  // Optional vectors of the problem; all are FP32.
  bool bias = false;                     // [n]
  bool scale_a = false;                  // [m]
  bool scale_b = false;                  // [n]
  bool per_tensor = false;               // one scale for all of A and one for all of B: [1] each. GPU.
  BlockScale blocks = BlockScale::none;  // scales of blocks of A and of B. GPU.
  // FP8 without scales of blocks: the tensor core's accumulator, of fewer digits, may add all of k. GPU.
  bool fast_sums = false;
  // FP32 scales of blocks: floats from one stored row to the next; 0 if rows are contiguous. See BlockRows.
  int64_t blocks_lda = 0;
  int64_t blocks_ldb = 0;
  // B was packed once by prepack() (kernels/dispatch/run.hpp), as weights are; layout and ldb describe it before
  // packing. CPU.
  bool prepacked_b = false;

  bool operator==(const Problem&) const = default;
};

// A problem of one data type with the least leading dimensions. INT8 accumulates in INT32, all others in FP32;
// `c` is the type of the result.
[[nodiscard]] Problem make_problem(int64_t m, int64_t n, int64_t k, DType type, DType c, Layout layout = Layout::nt);
// Makes a problem whose C has the type that needs no rounding: INT32 for INT8 and UINT8, else FP32.
[[nodiscard]] Problem make_problem(int64_t m, int64_t n, int64_t k, DType type, Layout layout = Layout::nt);

// Rows and columns of A, B, C as stored.
[[nodiscard]] constexpr int64_t stored_rows_a(const Problem& p) {
  return a_is_km(p.layout) ? p.k : p.m;
}
[[nodiscard]] constexpr int64_t stored_columns_a(const Problem& p) {
  return a_is_km(p.layout) ? p.m : p.k;
}
[[nodiscard]] constexpr int64_t stored_rows_b(const Problem& p) {
  return b_is_nk(p.layout) ? p.n : p.k;
}
[[nodiscard]] constexpr int64_t stored_columns_b(const Problem& p) {
  return b_is_nk(p.layout) ? p.k : p.n;
}

[[nodiscard]] constexpr int64_t stored_rows_c(const Problem& p) {
  return p.c_is_nm ? p.n : p.m;
}
[[nodiscard]] constexpr int64_t stored_columns_c(const Problem& p) {
  return p.c_is_nm ? p.m : p.n;
}

// Return the elements of the bias and the scales, if the problem has them.
[[nodiscard]] constexpr int64_t biases(const Problem& p) {
  return stored_columns_c(p);
}
[[nodiscard]] constexpr int64_t scales_a(const Problem& p) {
  return p.per_tensor ? 1 : p.m;
}
[[nodiscard]] constexpr int64_t scales_b(const Problem& p) {
  return p.per_tensor ? 1 : p.n;
}

// Return the scales of one row of A, or column of B, and the bytes of the MX or NVFP4 scales of `lines` of them, padded
// to 128 × 4. The layout is cuBLASLt's (kernels/cuda/block_scales.hpp).
[[nodiscard]] constexpr int64_t blocks_along_k(const Problem& p) {
  const int64_t length = block_length(p.blocks, p.a);
  return p.blocks == BlockScale::none ? 0 : divide_up(p.k, length);
}
[[nodiscard]] constexpr int64_t block_scale_bytes(const Problem& p, int64_t lines) {
  return round_up(lines, 128) * round_up(blocks_along_k(p), 4);
}

// Returns the elements from the first to one past the last of a matrix; 0 for an empty matrix. Requires a valid
// problem.
[[nodiscard]] constexpr int64_t extent(int64_t rows, int64_t columns, int64_t leading) {
  return rows == 0 || columns == 0 ? 0 : (rows - 1) * leading + columns;
}

// FP32 scales of the blocks of one operand with `lines` rows (for B: columns), as torch stores them. Blocks of 1 × 128:
// [k / 128, lines], scales of one block of k together. Blocks of 128 × 128: [lines / 128, k / 128].
struct BlockRows {
  bool squares = false;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t leading = 0;
};
[[nodiscard]] constexpr BlockRows block_rows(const Problem& p, bool squares, int64_t lines, int64_t leading) {
  const int64_t along = blocks_along_k(p);
  const int64_t columns = squares ? along : lines;
  return {squares, squares ? divide_up(lines, 128) : along, columns, leading > 0 ? leading : columns};
}
[[nodiscard]] constexpr BlockRows block_rows_a(const Problem& p) {
  return block_rows(p, p.blocks == BlockScale::squares_rows, p.m, p.blocks_lda);
}
[[nodiscard]] constexpr BlockRows block_rows_b(const Problem& p) {
  return block_rows(p, p.blocks == BlockScale::rows_squares, p.n, p.blocks_ldb);
}
// Returns the offset of the scale of a row or column in floats, for block `block` of k.
[[nodiscard]] constexpr int64_t place_in(const BlockRows& scales, int64_t line, int64_t block) {
  return scales.squares ? line / 128 * scales.leading + block : block * scales.leading + line;
}
// Return the bytes of all block scales of A or B, of any kind.
[[nodiscard]] constexpr int64_t block_bytes(const Problem& p, const BlockRows& scales, int64_t lines) {
  return are_fp32(p.blocks) ? extent(scales.rows, scales.columns, scales.leading) * 4 : block_scale_bytes(p, lines);
}
[[nodiscard]] constexpr int64_t block_bytes_a(const Problem& p) {
  return block_bytes(p, block_rows_a(p), p.m);
}
[[nodiscard]] constexpr int64_t block_bytes_b(const Problem& p) {
  return block_bytes(p, block_rows_b(p), p.n);
}
[[nodiscard]] constexpr int64_t extent_c(const Problem& p) {
  return extent(stored_rows_c(p), stored_columns_c(p), p.ldc);
}
// Returns the offset of C[i,j] in elements.
[[nodiscard]] constexpr int64_t place_in_c(const Problem& p, int64_t i, int64_t j) {
  return p.c_is_nm ? j * p.ldc + i : i * p.ldc + j;
}

// "m 5, n 7, k 3, nt, bf16·bf16→fp32→bf16", as messages name it.
[[nodiscard]] std::string describe(const Problem& problem);

// Checks a problem. Errors (usage): a negative size; a leading dimension smaller than a stored row; sizes whose byte
// count overflows; types that no GEMM here combines, or not with these blocks; scales, or a bias, on an INT32 result.
[[nodiscard]] Result<void> validate(const Problem& problem);

// Pointers may have any alignment that their element type has.
struct Operands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const float* bias = nullptr;
  const float* scale_a = nullptr;
  const float* scale_b = nullptr;
  const void* blocks_a = nullptr;  // scales of blocks: FP32; or bytes, UE8M0 or UE4M3, at a multiple of 16 bytes
  const void* blocks_b = nullptr;
  const void* packed_b = nullptr;  // output of prepack(), if problem.prepacked_b; then B is not read
};

// Checks pointers. Errors (usage): a null pointer to a non-empty matrix or to a vector that the problem has; a pointer
// that is not aligned to its element; a C that overlaps an input. Requires a valid problem.
[[nodiscard]] Result<void> validate(const Problem& problem, const Operands& operands);

}  // namespace pbprobe
