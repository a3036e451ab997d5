// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Which kernel, cut how. Pure host code: it reads the problem and the recorded host, and touches no device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/facts/host.hpp"
#include "core/result.hpp"
#include "kernels/gemm/problem.hpp"
#include "kernels/gemm/table.hpp"

namespace pbprobe {

// Measured rates of instruction paths in Gop/s of one core or GPU, by the loop's public name ("peak_fp32_avx512").
// Where every candidate has one, the fastest path wins; else the table's order, so that results repeat.
using Rates = std::map<std::string, double, std::less<>>;

struct ChooseOptions {
  std::optional<std::string> kernel;  // this one by public name, and no other
  std::optional<std::string> target;  // kernels of this target only
  std::optional<int64_t> gpu;         // index of the GPU where the operands are; none: CPU memory
  int64_t threads = 1;                // CPU: how many to use at most
};

struct Grid {
  int64_t x = 1;
  int64_t y = 1;
  int64_t z = 1;
};

// How a CPU kernel is cut: passes of `columns` × `rows` × `depths` over packed panels, in each of which the threads
// take tasks of `task_rows` × `task_columns` until none is left. K is never split between threads.
struct CpuBlocks {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t depths = 0;
  int64_t task_rows = 0;
  int64_t task_columns = 0;
  int64_t threads = 1;
  // Where the packed panels and the partial sums lie in the workspace, each aligned to 64 bytes.
  int64_t packed_b_offset = 0;
  int64_t sums_offset = 0;
  int64_t prepacked_block = 0;  // bytes from one block of `columns` × `depths` to the next in a prepacked B; 0: none
  bool sums = false;            // C is narrower than the accumulator, and k takes several passes
};

// How a GPU kernel is cut: parts of k, each summed by blocks of its own, and passes over operands that its instruction
// cannot read as they lie. Offsets are in the workspace, from a multiple of 256 bytes on.
struct GpuBlocks {
  int64_t part = 0;     // depth of one part
  bool turn_a = false;  // laid out K-major first
  bool turn_b = false;
  bool align_a = false;  // copied first, with rows at multiples of 16 bytes
  bool align_b = false;
  bool skewed_b = false;  // read as it lies by threads, where no tensor map names its rows (few_rows)
  int64_t a_leading = 0;  // of the copy, in elements
  int64_t b_leading = 0;
  int64_t b_offset = 0;
  int64_t sums_offset = 0;
  int64_t cluster = 1;  // blocks of a cluster
  // Kernels of tensor maps: tiles that are walked together in one direction before the next ones (warpgroups: rows of
  // tiles).
  int64_t band = 0;
};

constexpr int64_t kPackedAlign = 64;

struct Plan {
  const Kernel* kernel = nullptr;
  Problem problem;
  Tile tile;
  int64_t split = 1;            // parts of k, reduced in a fixed order
  std::string variant;          // GPU: what the symbol's name adds, "_nt"
  Grid grid;                    // GPU
  int64_t shared_bytes = 0;     // GPU: dynamic, of a block
  CpuBlocks cpu;                // CPU
  GpuBlocks gpu;                // GPU
  int64_t workspace_bytes = 0;  // what run() needs, at any alignment; its content is arbitrary before and after
  // Of a prepacked B, at a multiple of kPackedAlign; 0: the problem has none. The same for every m and every number of
  // threads, so plans of one kernel, n and k share it.
  int64_t prepacked_bytes = 0;
  std::optional<std::string> transposing;  // a pass that turns an operand first, counted in the time; none: no pass
  // tcgen05: what is launched where an operand is at no multiple of 16 bytes, and for k = 0. Needs the same workspace.
  std::shared_ptr<const Plan> otherwise;
  double model_seconds = 0;  // GPU: by the model that chooses between tiles; only ratios count. 0: none is asked
  std::string why;           // one sentence: why this kernel, cut like this
};

// Whether this build's image of a GPU target runs on the device: machine code on its own capability, a plain image on
// later ones of the same major number too; PTX wherever the driver can compile it.
[[nodiscard]] bool runs_on(const Target& target, const Gpu& gpu);

// Errors: usage (the problem is wrong, the kernel or target unknown, the GPU not there); unsupported (no kernel for
// these types, a forced kernel whose target was not built or whose ISA the host lacks: the message names it); limit
// (more tiles than a grid holds).
[[nodiscard]] Result<Plan> choose(const Problem& problem, const Host& host, const Rates& rates = {},
                                  const ChooseOptions& options = {});

}  // namespace pbprobe
