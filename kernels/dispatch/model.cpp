// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/dispatch/model.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/targets.hpp"
#include "kernels/cuda/host/tcgen05.hpp"
#include "kernels/cuda/host/warpgroups.hpp"
#include "kernels/gemm/plan.hpp"

namespace pbprobe {
namespace {

constexpr int64_t kVector = 16;  // bytes
constexpr int64_t kMostParts = 32;
constexpr int64_t kMostCluster = 8;  // blocks that every GPU with clusters can hold together

// Cost of a family of kernels besides its instruction's rate. Fitted to measured times of every kernel and split of
// random shapes on an H200 (docs/kernels/model.md).
struct Family {
  double launch_us;         // from the launch to the first operands, and from the last accumulators to the end
  double tile_us;           // for each tile, besides its stages
  double area_us;           // for each 128 × 128 of a tile on one SM, besides its stages
  double block_bytes;       // bytes of operands per clock that one block takes at most
  double sm_bytes;          // bytes of operands per clock that an SM takes at most
  double unaligned;         // factor on the time if the kernel reads unaligned rows
  double unaligned_us;      // and time added to each stage then
  double writing;           // factor on the time to write C if its rows are unaligned
  double memory;            // fraction of the memory's rate that the family reaches
  int64_t fewest_stages;    // fewest stages of a part
  double area_writing = 1;  // factor on area_us if the rows of C are unaligned
};

Family get_family(const Kernel& kernel) {
  if (is_tcgen05(kernel)) return {4.0, 0.9, 0.45, 120, 120, 1, 0, 1, 0.75, 4};  // not measured
  switch (kernel.work) {
    case GpuWork::small_m: return {1.7, 0.76, 0.47, 50, 54, 2.9, 0.22, 1.2, 0.94, 4, 1.4};
    case GpuWork::tma_mma: return {6.0, 0.2, 0.35, 40, 60, 1, 0, 2, 0.6, 4};
    case GpuWork::warpgroups:
      return kernel.pingpong ? Family{4.6, 0, 0, 52, 60, 1, 0, 1.85, 0.8, 4}
                             : Family{2.2, 1.25, 0.73, 60, 60, 1, 0, 1.9, 0.73, 4};
    case GpuWork::blocks: break;
  }
  const bool small_m = kernel.max_m != INT64_MAX;
  if (kernel.instruction == "mma.sync") {
    if (kernel.reads_any_rows) {
      if (kernel.tile.m > 32) return {0.65, 1.6, 0.7, 40, 60, 1, 0, 1.27, 0.68, 1};
      return kernel.tile.n > 32 ? Family{1.15, 0.16, 0.5, 40, 60, 1, 0.15, 1.3, 0.24, 1, 2}
                                : Family{1.15, 0, 0, 11.4, 60, 1, 0.12, 2.5, 0.28, 1};
    }
    return small_m ? Family{3.2, 1.2, 0.2, 40, 40, 6, 0.8, 1, 0.6, 4}
                   : Family{2.2, 0.4, 0.7, 9, 60, 4.5, 0.9, 9, 0.6, 4};
  }
  if (small_m) return {0.6, 0.47, 0, 10.5, 60, 1, 0, 5, 0.95, 1};
  if (kernel.small_k) return {1.5, 0.75, 0.07, 95, 140, 1, 0.24, 1, 0.92, 4};
  if (kernel.reads_any_rows) return {2.5, 1.1, 0.23, 40, 60, 1, 0.09, 2.9, 0.63, 32, 1.2};
  if (kernel.tile.m > 64) return {5.9, 0.07, 0.14, 40, 60, 1, 0.08, 2.1, 0.2, 4};
  if (kernel.tile.m > 32) return {2.85, 1.4, 0.46, 40, 60, 1, 0.17, 3.6, 0.54, 4};
  return {1.25, 0.66, 0.06, 40, 60, 1, 0.18, 4.4, 0.6, 4, 1.6};
}

// Returns the dense operations per clock of one SM.
double ops_per_clock(const Kernel& kernel, const Target& target) {
  const Peak* const peak = peak_of(kernel);
  const DType type = peak != nullptr ? peak->dtype : kernel.dtype;
  constexpr double kUnknown = 1024;
  const auto rate = [&](DType of_type) {
    std::optional<int64_t> found;
    for (const OpsPerClock& ops : target.ops_per_clock) {
      std::optional<int64_t> of = rate_of(ops, of_type);
      if (!of && of_type == DType::fp16) of = ops.bf16;
      if (of && (!found || ops.chip_class == kernel.instruction)) found = of;
    }
    return found;
  };
  if (const auto found = rate(type)) return static_cast<double>(*found);
  // If no source has the rate of 8-bit types, assume twice the rate of BF16.
  const auto bf16 = size_of(type) == 1 ? rate(DType::bf16) : std::nullopt;
  return bf16 ? 2 * static_cast<double>(*bf16) : kUnknown;
}

// One kernel, problem and device.
struct Model {
  const Kernel& kernel;
  const Problem& p;
  Family family = get_family(kernel);
  double sms = 1;
  double clock = 1.5e9;
  double memory = 3e11;  // bytes a second
  double ops = 1024;
  double tiles = 1;  // tiles of one block, pair or cluster
  int64_t stages = 1;
  Reading reading = plan_reading(kernel, p);

  Model(const Kernel& of, const Problem& problem, const Gpu& gpu) : kernel(of), p(problem) {
    sms = static_cast<double>(count_sms(gpu));
    if (gpu.max_sm_clock_mhz) clock = static_cast<double>(*gpu.max_sm_clock_mhz) * 1e6;
    const Target* const target = find_target(kernel.target);
    if (target != nullptr) {
      ops = ops_per_clock(kernel, *target);
      if (target->limits.memory_gb_per_s) memory = static_cast<double>(*target->limits.memory_gb_per_s) * 1e9;
    }
    tiles = static_cast<double>(tiles_of(kernel, p));
    stages = stages_of(kernel, p);
  }

  [[nodiscard]] static double bytes(int64_t rows, int64_t columns, DType type) {
    return static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(size_of(type));
  }
  [[nodiscard]] int64_t most_parts() const {
    if (is_tcgen05(kernel)) return 1;
    const int64_t most = kernel.work == GpuWork::small_m ? kMostCluster : kMostParts;
    return std::clamp<int64_t>(stages / family.fewest_stages, 1, most);
  }
  // Blocks of a cluster, or SMs of a pair, that compute one tile of tiles_of() together.
  [[nodiscard]] double together() const {
    return static_cast<double>(kernel.work == GpuWork::small_m ? 1 : std::max(kernel.sms, kernel.cluster));
  }
  [[nodiscard]] bool c_is_aligned() const { return !p.c_is_nm && (p.m <= 1 || p.ldc * size_of(p.c) % kVector == 0); }
  // The operands and C, each once.
  [[nodiscard]] double memory_seconds() const {
    // An element is stored at a time, of 2 bytes as of 4, where rows may begin anywhere.
    const double c = bytes(p.m, p.n, kernel.reads_any_rows ? DType::fp32 : p.c) * (c_is_aligned() ? 1 : family.writing);
    return (bytes(p.m, p.k, p.a) + bytes(p.k, p.n, p.b) + c) / (memory * family.memory);
  }
  // The passes that lay out operands first, and the one that reduces the parts.
  [[nodiscard]] double pass_seconds(int64_t parts) const {
    double seconds = 0;
    const double read =
        (reading.a != Pass::none ? bytes(p.m, p.k, p.a) : 0) + (reading.b != Pass::none ? bytes(p.k, p.n, p.b) : 0);
    if (read > 0) seconds += 1.3e-6 + 2 * read / (0.7 * memory);
    if (parts > 1 && kernel.work != GpuWork::small_m) {
      seconds += 2.5e-6 + static_cast<double>(2 * parts + 1) * bytes(p.m, p.n, p.accumulator) / (1.2 * memory);
    }
    return seconds;
  }
  // `running`: blocks of an SM at once.
  [[nodiscard]] double stage_seconds(double running) const {
    const auto& tile = kernel.tile;
    const int64_t deep = kernel.small_k ? std::min(tile.k, p.k) : tile.k;
    const double work = 2.0 * static_cast<double>(tile.m * tile.n * deep);
    const double share = static_cast<double>(std::max<int64_t>(kernel.share, 1)) / 100;
    const double compute =
        work / (ops * share) * std::max(running, static_cast<double>(kernel.busy)) / static_cast<double>(kernel.sms);
    const double read = static_cast<double>((tile.m + tile.n) * tile.k * size_of(p.a)) /
                        static_cast<double>(kernel.sms) * std::max(1 / family.block_bytes, running / family.sm_bytes) *
                        (reading.unaligned ? family.unaligned : 1);
    return std::max(compute, read) / clock + (reading.unaligned ? family.unaligned_us * 1e-6 : 0);
  }
  [[nodiscard]] double seconds(int64_t parts) const {
    constexpr double kClusterSeconds = 0.25e-6;  // small_m: for each doubling of the cluster
    const double slots = std::max(std::floor(sms / together()), 1.0);
    const double all = tiles * static_cast<double>(parts);
    const double running = std::clamp(std::ceil(all / slots), 1.0, static_cast<double>(kernel.blocks));
    const double waves = std::ceil(all / (slots * running));
    const double area =
        static_cast<double>(kernel.tile.m * kernel.tile.n) / (128.0 * 128.0 * static_cast<double>(kernel.sms));
    // Ping-pong computes its only tile by half of its warps.
    const double stage = stage_seconds(running) * (kernel.pingpong && waves < 2 ? 1.2 : 1);
    const double write_us = family.tile_us + family.area_us * area * (c_is_aligned() ? 1 : family.area_writing);
    const double tile = static_cast<double>(divide_up(stages, parts)) * stage + write_us * 1e-6;
    const double cluster = kernel.work == GpuWork::small_m ? kClusterSeconds * std::log2(parts) : 0;
    return family.launch_us * 1e-6 + std::max(waves * tile, memory_seconds()) + cluster + pass_seconds(parts);
  }
};

}  // namespace

int64_t count_sms(const Gpu& gpu) {
  constexpr int64_t kUnknownSms = 64;
  return std::max<int64_t>(gpu.sm_count.value_or(kUnknownSms), 1);
}

Reading plan_reading(const Kernel& kernel, const Problem& p) {
  constexpr int64_t kWorthRows = 64;                    // below, reading element by element costs less than a copy
  constexpr int64_t kLarge = 128;                       // smaller tiles of FP32 read unaligned rows as fast
  const bool by_maps = kernel.work != GpuWork::blocks;  // tensor maps need rows that begin at multiples of 16 bytes
  const bool worth =
      !kernel.reads_any_rows &&
      (by_maps || (std::min(p.m, p.n) > kWorthRows && (kernel.peak != "peak_fp32" || kernel.tile.m >= kLarge)));
  const Layout read = layout_read(kernel, p.layout);
  const auto unaligned = [&](int64_t rows, int64_t leading) {
    return rows > 1 && leading * size_of(p.a) % kVector != 0;
  };
  const bool by_threads = reads_unaligned_b(kernel, p);
  Reading reading{.unaligned = by_threads};
  const auto pass = [&](bool transpose, bool apart, bool as_it_lies) {
    if (transpose) return Pass::transpose;
    if (apart && worth && !as_it_lies) return Pass::align;
    reading.unaligned = reading.unaligned || apart;
    return Pass::none;
  };
  reading.a = pass(a_is_km(read) != a_is_km(p.layout), unaligned(stored_rows_a(p), p.lda), false);
  reading.b = pass(b_is_nk(read) != b_is_nk(p.layout), unaligned(stored_rows_b(p), p.ldb), by_threads);
  return reading;
}

Split best_split(const Kernel& kernel, const Problem& problem, const Gpu& gpu) {
  // No measurement shows whether one block on each of few SMs reaches the memory's rate. If the model finds splits
  // equally fast, small M therefore takes the split with most blocks that have an SM each.
  constexpr double kAlike = 1.1;
  const Model model(kernel, problem, gpu);
  const bool small_m = kernel.work == GpuWork::small_m;
  Split best{1, model.seconds(1)};
  double least = best.seconds;
  for (int64_t parts = 2; parts <= model.most_parts(); parts += small_m ? parts : 1) {
    const double seconds = model.seconds(parts);
    const bool alike = small_m && model.tiles * static_cast<double>(parts) <= model.sms && seconds <= kAlike * least;
    if (seconds < best.seconds || alike) best = {parts, seconds};
    least = std::min(least, seconds);
  }
  return best;
}

Split make_split(const Kernel& kernel, const Problem& problem, const Gpu& gpu, int64_t parts) {
  const Model model(kernel, problem, gpu);
  const int64_t there = std::clamp<int64_t>(parts, 1, model.most_parts());
  return {there, model.seconds(there)};
}

}  // namespace pbprobe
