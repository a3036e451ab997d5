// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Layout of the scales of blocks of k, for host and device, as cuBLASLt and torch.nn.functional.scaled_mm take it
// (SWIZZLE_32_4_4). Tiles hold 128 rows × 4 scales along k; tiles of the same rows follow each other. In a tile, row r
// and scale s are at byte 16 · (r % 32) + 4 · (r / 32) + s, so that four scales of a row are one aligned word. Source:
// cuBLAS, "1D Block Scaling Factors Layout"; PTX ISA, "Block Scaling for mma.sync".
#pragma once

namespace pbprobe {

#ifdef __CUDACC__
#define PBPROBE_EVERYWHERE __host__ __device__
#else
#define PBPROBE_EVERYWHERE
#endif

constexpr int kScaleTileRows = 128;
constexpr int kScaleTileBytes = 512;

// Block scales of both operands. `across`: tiles from left to right, each one word (four scales) of a row.
struct GpuBlockScales {
  const void* a;
  const void* b;
  int across;
};

// FP32 scales of blocks of 128 along k; lda and ldb are floats from one stored row to the next. Scales of 1 × 128 are
// stored as [k / 128, rows], scales of 128 × 128 as [rows / 128, k / 128] (BlockRows in kernels/gemm/problem.hpp).
struct GpuFp32Blocks {
  const float* a;
  const float* b;
  long long lda, ldb;
};

// Bytes from the beginning to word `word` of a row's scales.
PBPROBE_EVERYWHERE constexpr long long scale_word_offset(long long row, long long word, long long across) {
  return (row / kScaleTileRows * across + word) * kScaleTileBytes + row % 32 * 16 + row / 32 % 4 * 4;
}

// Returns the row, or column, whose scales a lane holds in its register `set`, counted from the warp's first. mma.sync
// takes scales from one register of some lanes of each quad. For A, lanes 2p and 2p + 1 hold rows g and g + 8 of the 16
// rows of thread-id-a = p, so a register serves two blocks. For B, lane q holds column g of the 8 columns of
// thread-id-b = q, so a register serves four. `blocks`: the warp's blocks of 16 rows, or 8 columns; a lane beyond them
// repeats the last block.
PBPROBE_EVERYWHERE constexpr int scale_row_of(int lane, int set, int blocks) {
  const int block = 2 * set + lane % 4 / 2;
  return (block < blocks ? block : blocks - 1) * 16 + lane % 2 * 8 + lane / 4;
}
PBPROBE_EVERYWHERE constexpr int scale_column_of(int lane, int set, int blocks) {
  const int block = 4 * set + lane % 4;
  return (block < blocks ? block : blocks - 1) * 8 + lane / 4;
}

}  // namespace pbprobe
