// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tiles and their shared memory, stated once for the kernels and for the table's rows. Included by host and device
// code: constants only.
#pragma once

namespace pbprobe {

// mma.sync: bytes of k in a stage and stages of the 128 × 128 tile; stages of the 64 × 64 tile, and its blocks of an
// SM; blocks of an SM of the 16 × 64 tile. By the shared memory that an SM has.
#define PBPROBE_MMA_SIZES_228KB 128, 3, 4, 3, 2
#define PBPROBE_MMA_SIZES_164KB 64, 4, 3, 3, 2
#define PBPROBE_MMA_SIZES_100KB 64, 3, 3, 2, 1

constexpr int mma_shared_bytes(int lines, int line_bytes, int stages) {
  return lines * line_bytes * stages;
}

// Shared memory for small and unaligned problems (mma_direct.cuh). A stage holds kDirectSlab bytes of k. Each line has
// 16 more, for the word that follows and to spread the banks. `lines`: lines of a group of warps that share k.
constexpr int kDirectSlab = 64;
constexpr int kDirectLine = kDirectSlab + 16;
constexpr int direct_shared_bytes(int lines, int groups, int stages) {
  return lines * kDirectLine * groups * stages;
}

// Shared memory of a ring of stages that TMA fills: 1 KiB to align it to the swizzle's pattern, and two barriers a
// stage. `lines`: lines of 128 bytes in a stage. `epilogue_bytes`: staging of C; `barriers`: barriers besides those
// two.
constexpr int tma_shared_bytes(int lines, int stages, int epilogue_bytes = 0, int barriers = 0) {
  return 1024 + stages * (lines * 128 + 2 * 8) + epilogue_bytes + 8 * barriers;
}

}  // namespace pbprobe
