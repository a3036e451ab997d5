// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Plan of one problem: the kernel, and its cut. choose() (kernels/dispatch) makes it, run() reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kernels/gemm/problem.hpp"
#include "kernels/gemm/table.hpp"

namespace pbprobe {

// Return the tiles of C, of which one block, pair of SMs or cluster computes one at a time; and the stages of k per
// tile.
[[nodiscard]] constexpr int64_t tiles_of(const Kernel& kernel, const Problem& p) {
  const int64_t rows = kernel.tile.m * (kernel.across ? 1 : kernel.cluster);
  const int64_t columns = kernel.tile.n * (kernel.across ? kernel.cluster : 1);
  return divide_up(p.m, rows) * divide_up(p.n, columns);
}
[[nodiscard]] constexpr int64_t stages_of(const Kernel& kernel, const Problem& p) {
  return divide_up(p.k, kernel.tile.k) + (p.k == 0 ? 1 : 0);
}

// Blocks of a cluster that share operands (GpuWork::clusters): one below the other B, side by side A.
struct ClusterShape {
  int64_t down = 1;
  int64_t across = 1;

  [[nodiscard]] constexpr int64_t blocks() const { return down * across; }
};
// Returns the tiles of whole clusters that cover C. The last ones may be outside of it.
[[nodiscard]] constexpr int64_t count_tiles(const Kernel& kernel, const Problem& p, const ClusterShape& shape) {
  return divide_up(p.m, kernel.tile.m * shape.down) * divide_up(p.n, kernel.tile.n * shape.across) * shape.blocks();
}

struct Grid {
  int64_t x = 1;
  int64_t y = 1;
  int64_t z = 1;
};

// Cut of a CPU kernel: passes of `columns` × `rows` × `k_block` over packed panels. In each pass the threads take tasks
// of `task_rows` × `task_columns` until all are taken. If `alone`, each thread computes one task of C, in passes of its
// own over panels of its own. With Plan::split > 1 this is the cut of each part of k, and `alone`.
struct CpuBlocks {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t k_block = 0;
  int64_t task_rows = 0;
  int64_t task_columns = 0;
  int64_t threads = 1;
  bool alone = false;     // tasks share no packed operand, and wait for no other
  bool packed_a = false;  // the kernel reads A's own rows, which have the form of packed ones
  // Offsets of the packed panels and the partial sums in the workspace, each aligned to 64 bytes.
  int64_t packed_b_offset = 0;
  int64_t partials_offset = 0;
  int64_t own_bytes = 0;        // if `alone`: the workspace of one thread
  int64_t prepacked_block = 0;  // bytes from one block of `columns` × `k_block` to the next in a prepacked B; 0: none
  bool partials = false;        // C is narrower than the accumulator, and k takes several passes
  // Plan::split > 1: length of a part, bytes of its workspace, and where in the workspace the parts put their sums.
  int64_t part = 0;
  int64_t part_bytes = 0;
  int64_t sums_offset = 0;
};

// Cut of a GPU kernel: split-K, and passes over operands that its instruction cannot read in place. Offsets are in the
// workspace, from a multiple of 256 bytes on.
struct GpuBlocks {
  int64_t part = 0;          // length of one part
  bool transpose_a = false;  // laid out K-major first
  bool transpose_b = false;
  bool align_a = false;  // copied first, with rows at multiples of 16 bytes
  bool align_b = false;
  bool unaligned_b = false;  // threads read B in place, because no tensor map can name its rows (small_m)
  int64_t a_leading = 0;     // elements between rows of the copy
  int64_t b_leading = 0;
  int64_t b_offset = 0;
  int64_t partials_offset = 0;
  int64_t scales_offset = 0;  // a vector of A's scale, then of B's scale, if each is one number
  int64_t cluster = 1;        // blocks of a cluster
  ClusterShape shape;         // GpuWork::clusters
  int64_t blocks_by_map = 0;  // clusters: grid.x if TMA stores C: a cluster computes several tiles then
  bool overlaps = false;      // launches may begin before earlier kernels have ended (kernels/cuda/pdl.cuh)
  // Kernels by TMA: tiles of a raster group in one direction (warpgroups: rows of tiles).
  int64_t raster_group = 0;
};

constexpr int64_t kPackedAlign = 64;
// Bytes of a workspace that a caller keeps between calls. Plans in which each thread packs its own operands need no
// more.
constexpr int64_t kKeptWorkspace = 32 << 20;

// Kernel chosen for a problem, and how its threads or blocks divide the work. choose() makes it; run() executes it.
struct Plan {
  const Kernel* kernel = nullptr;
  Problem problem;
  Tile tile;
  int64_t split = 1;            // split-K: parts, reduced in a fixed order
  std::string variant;          // GPU: what the symbol's name adds, "_nt"
  Grid grid;                    // GPU
  int64_t shared_bytes = 0;     // GPU: dynamic, of a block
  CpuBlocks cpu;                // CPU
  GpuBlocks gpu;                // GPU
  int64_t workspace_bytes = 0;  // bytes that run() needs, at any alignment; the content is arbitrary before and after
  // Bytes of a prepacked B, at a multiple of kPackedAlign; 0 if the problem has none. Independent of m and of the
  // number of threads, so plans of one kernel, n and k share it.
  int64_t prepacked_bytes = 0;
  std::optional<std::string>
      transposing;  // pass that transposes an operand first, counted in the time; unset if no pass does
  // TMA kernels: plan for k = 0 and operands not aligned to 16 bytes. Needs the same workspace.
  std::shared_ptr<const Plan> otherwise;
  // GPU, C of few columns: runs C' = B' · A' by a small-M kernel instead. Needs the same workspace.
  std::shared_ptr<const Plan> swapped;
  double model_seconds = 0;  // GPU: by the model that chooses (kernels/dispatch/model.hpp); 0: none is asked
  std::string why;           // one sentence: why this kernel, cut like this
};

// Reports whether a pass repeats the one scale of each operand for its rows or columns, because the kernel or the pass
// that reduces split-K reads a scale for each.
[[nodiscard]] inline bool repeats_scales(const Plan& plan) {
  return plan.problem.per_tensor && (plan.split > 1 || !reads_one_scale(*plan.kernel));
}

}  // namespace pbprobe
