// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Where the scales of blocks of k lie, for host and device: as cuBLASLt and torch.nn.functional.scaled_mm take them
// (SWIZZLE_32_4_4). Tiles of 128 rows × 4 scales along k, those of the same rows one after the other; in a tile, row r
// and scale s lie at byte 16 · (r % 32) + 4 · (r / 32) + s. So four scales of a row are one aligned word.
// Source: cuBLAS, "1D Block Scaling Factors Layout"; PTX ISA, "Block Scaling for mma.sync".
#pragma once

namespace pbprobe {

#ifdef __CUDACC__
#define PBPROBE_EVERYWHERE __host__ __device__
#else
#define PBPROBE_EVERYWHERE
#endif

constexpr int kScaleTileRows = 128;
constexpr int kScaleTileBytes = 512;

// The scales of both operands; `across`: words of a row, which is tiles side by side.
struct GpuBlockScales {
  const void* a;
  const void* b;
  int across;
};

// FP32 scales of blocks of 128 along k: floats from one stored row to the next. Those of 1 × 128 lie [k / 128, rows],
// those of 128 × 128 [rows / 128, k / 128] (BlockRows in kernels/gemm/problem.hpp).
struct GpuFp32Blocks {
  const float* a;
  const float* b;
  long long lda, ldb;
};

// Bytes from the beginning to word `word` of a row's scales.
PBPROBE_EVERYWHERE constexpr long long scale_word_offset(long long row, long long word, long long across) {
  return (row / kScaleTileRows * across + word) * kScaleTileBytes + row % 32 * 16 + row / 32 % 4 * 4;
}

// mma.sync takes scales from one register of some lanes of each quad. Of A, lanes 2p and 2p + 1 hold rows g and g + 8
// of the 16 rows that thread-id-a = p stands for, so a register serves two of them; of B, lane q holds column g of the
// 8 columns that thread-id-b = q stands for, so a register serves four. These are the rows, or columns, of a lane's
// register `set`, from the warp's first one, of which it has `blocks` of 16, or 8; a lane beyond them repeats the last.
PBPROBE_EVERYWHERE constexpr int scale_row_of(int lane, int set, int blocks) {
  const int block = 2 * set + lane % 4 / 2;
  return (block < blocks ? block : blocks - 1) * 16 + lane % 2 * 8 + lane / 4;
}
PBPROBE_EVERYWHERE constexpr int scale_column_of(int lane, int set, int blocks) {
  const int block = 4 * set + lane % 4;
  return (block < blocks ? block : blocks - 1) * 8 + lane / 4;
}

}  // namespace pbprobe
