// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/dispatch/model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <tuple>

#include "core/targets.hpp"
#include "kernels/cuda/cluster_call.hpp"
#include "kernels/cuda/host/tcgen05.hpp"
#include "kernels/cuda/host/warpgroups.hpp"
#include "kernels/gemm/plan.hpp"

namespace pbprobe {
namespace {

constexpr int64_t kVector = 16;  // bytes
constexpr int64_t kMostParts = 32;

// The fewest stages of a part of split-K.
int64_t fewest_stages(const Kernel& kernel) {
  if (kernel.work == GpuWork::clusters) return 2;
  switch (find_family(kernel)) {
    case FamilyId::gemv:
    case FamilyId::mma_direct_64:
    case FamilyId::mma_direct_32:
    case FamilyId::mma_direct_narrow: return 1;
    case FamilyId::simt_words: return 32;
    default: return 4;
  }
}

// Reports whether the blocks of such a cluster fetch whole patterns of eight rows of the swizzle.
bool has_shape(const Kernel& kernel, const ClusterShape& shape) {
  constexpr int64_t kPattern = 8;
  constexpr int64_t kBoxRows = 64;  // rows of a box of B, if B is not contiguous along k
  return kernel.work == GpuWork::clusters && kernel.tile.m % (kPattern * shape.across) == 0 &&
         std::min(kernel.tile.n, kBoxRows) % (kPattern * shape.down) == 0 && shape.blocks() <= kGpuMostCluster;
}

constexpr Fit kFits[] = {
#include "kernels/dispatch/fits.inc"
};

FamilyId mma_family(const Kernel& kernel) {
  if (!kernel.reads_any_rows) return kernel.max_m != INT64_MAX ? FamilyId::mma_small_m : FamilyId::mma_staged;
  if (kernel.tile.m > 32) return FamilyId::mma_direct_64;
  return kernel.tile.n > 32 ? FamilyId::mma_direct_32 : FamilyId::mma_direct_narrow;
}

FamilyId simt_family(const Kernel& kernel) {
  if (kernel.max_m != INT64_MAX) return FamilyId::gemv;
  if (kernel.small_k) return FamilyId::simt_thin;
  if (kernel.reads_any_rows) return FamilyId::simt_words;
  if (kernel.tile.m > 64) return FamilyId::simt_128;
  if (kernel.tile.n > 64) return FamilyId::simt_wide;
  return kernel.tile.m > 32 ? FamilyId::simt_64 : FamilyId::simt_32;
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

// Returns the time of two activities at once: the longer time, and up to 19 % more if both are alike.
double overlap(double a, double b) {
  const auto square = [](double x) { return x * x; };
  return std::sqrt(std::sqrt(square(square(a)) + square(square(b))));
}

// One kernel, problem and device.
struct Model {
  const Kernel& kernel;
  const Problem& p;
  Family family;
  double sms = 1;
  double clock = 1.5e9;
  double memory = 3e11;  // bytes a second
  double cache = 50e6;   // bytes of L2
  double ops = 1024;
  double tiles = 1;  // tiles of one block, pair or cluster
  int64_t stages = 1;
  Reading reading = plan_reading(kernel, p);
  ClusterShape shape;

  Model(const Kernel& of, const Problem& problem, const Gpu& gpu)
      : Model(of, problem, gpu, find_fit(gpu).families[static_cast<size_t>(find_family(of))]) {}
  Model(const Kernel& of, const Problem& problem, const Gpu& gpu, const Family& costs)
      : kernel(of), p(problem), family(costs) {
    sms = static_cast<double>(count_sms(gpu));
    if (gpu.max_sm_clock_mhz) clock = static_cast<double>(*gpu.max_sm_clock_mhz) * 1e6;
    if (gpu.l2_cache_bytes) cache = static_cast<double>(*gpu.l2_cache_bytes);
    const Target* const target = find_target(kernel.target);
    if (target != nullptr) {
      ops = ops_per_clock(kernel, *target);
      if (target->limits.memory_gb_per_s) memory = static_cast<double>(*target->limits.memory_gb_per_s) * 1e9;
    }
    tiles = static_cast<double>(tiles_of(kernel, p));
    stages = stages_of(kernel, p);
  }
  // Takes a shape of the cluster, whose last tiles may be outside of C.
  void set_shape(const ClusterShape& to) {
    shape = to;
    tiles = static_cast<double>(count_tiles(kernel, p, to));
  }

  [[nodiscard]] static double bytes(int64_t rows, int64_t columns, DType type) {
    return static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(size_of(type));
  }
  [[nodiscard]] int64_t most_parts() const {
    if (is_tcgen05(kernel)) return 1;
    const int64_t most = splits_in_cluster(kernel) ? kGpuMostCluster / shape.blocks() : kMostParts;
    return std::clamp<int64_t>(stages / fewest_stages(kernel), 1, most);
  }
  // Blocks of a cluster, or SMs of a pair, that compute one tile of tiles_of() together.
  [[nodiscard]] double together() const {
    return static_cast<double>(splits_in_cluster(kernel) ? 1 : std::max(kernel.sms, kernel.cluster));
  }
  [[nodiscard]] bool c_is_aligned() const { return !p.c_is_nm && (p.m <= 1 || p.ldc * size_of(p.c) % kVector == 0); }
  // The operands and C, each once.
  [[nodiscard]] double memory_seconds() const {
    constexpr double kHeld = 0.8;  // part of the cache that holds what the previous call read
    // An element is stored at a time, of 2 bytes as of 4, where rows may begin anywhere.
    const double c = bytes(p.m, p.n, kernel.reads_any_rows ? DType::fp32 : p.c) * (c_is_aligned() ? 1 : family.writing);
    const double all = bytes(p.m, p.k, p.a) + bytes(p.k, p.n, p.b) + c;
    return all / (memory * (all < kHeld * cache ? family.cached : family.memory));
  }
  // The passes that lay out operands first, and the one that reduces the parts.
  [[nodiscard]] double pass_seconds(int64_t parts) const {
    double seconds = 0;
    const double read =
        (reading.a != Pass::none ? bytes(p.m, p.k, p.a) : 0) + (reading.b != Pass::none ? bytes(p.k, p.n, p.b) : 0);
    if (read > 0) seconds += 1.3e-6 + 2 * read / (0.7 * memory);
    if (parts > 1 && !splits_in_cluster(kernel)) {
      const double moved = static_cast<double>(2 * parts + 1) * bytes(p.m, p.n, p.accumulator);
      seconds += family.part_us * 1e-6 + moved / (family.adding * memory);
      if (p.per_tensor && reads_one_scale(kernel)) seconds += 2e-6;  // repeats_scales()
    }
    return seconds;
  }
  // `running`: blocks of an SM at once. `load`: the part of the SMs that run any; all of them share the L2 cache's
  // rate.
  [[nodiscard]] double stage_seconds(double running, double load) const {
    const auto& tile = kernel.tile;
    const int64_t deep = kernel.small_k ? std::min(tile.k, p.k) : tile.k;
    const double work = 2.0 * static_cast<double>(tile.m * tile.n * deep);
    const double share = static_cast<double>(std::max<int64_t>(kernel.share, 1)) / 100;
    const double compute =
        work / (ops * share) * std::max(running, static_cast<double>(kernel.busy)) / static_cast<double>(kernel.sms);
    const auto bytes_of = [&](int64_t lines) {
      return static_cast<double>(lines * tile.k * size_of(p.a)) / static_cast<double>(kernel.sms);
    };
    // A cluster's blocks receive both operands whole, and fetch their share. Lines outside of A are not copied;
    // clusters copy none outside of B either.
    const int64_t rows = splits_in_cluster(kernel) ? std::min(tile.m, p.m) : tile.m;
    const int64_t columns = kernel.work == GpuWork::clusters ? std::min(tile.n, p.n) : tile.n;
    const double fetched =
        bytes_of(rows) / static_cast<double>(shape.across) + bytes_of(columns) / static_cast<double>(shape.down);
    const double read =
        std::max(bytes_of(rows + columns) / family.block_bytes, load * running * fetched / family.sm_bytes) *
        (reading.unaligned ? family.unaligned : 1);
    return overlap(overlap(compute + family.stage_clocks, read), family.least_clocks) / clock +
           (reading.unaligned ? family.unaligned_us * 1e-6 : 0);
  }
  [[nodiscard]] double seconds(int64_t parts) const {
    const int64_t clustered = splits_in_cluster(kernel) ? parts * shape.blocks() : 1;
    const double slots = clustered > 1 ? static_cast<double>(count_blocks_at_once(static_cast<int64_t>(sms), clustered))
                                       : std::max(std::floor(sms / together()), 1.0);
    const double all = tiles * static_cast<double>(parts);
    // Blocks begin where the previous kernel left room: some SMs hold as many as they can.
    const auto most = static_cast<double>(kernel.blocks);
    const bool uneven = kernel.work == GpuWork::blocks && all > slots;
    const double running = uneven ? most : std::clamp(std::ceil(all / slots), 1.0, most);
    const double waves = std::floor(all / (slots * running));  // every SM takes part
    const double last = all / (slots * running) - waves;
    const double area =
        static_cast<double>(kernel.tile.m * kernel.tile.n) / (128.0 * 128.0 * static_cast<double>(kernel.sms));
    const bool adds = splits_in_cluster(kernel) && parts > 1;
    const double area_us = family.area_us + (size_of(p.c) == 4 ? family.word_us : 0) + (adds ? family.split_us : 0);
    const double write_us = family.tile_us + area_us * area * (c_is_aligned() ? 1 : family.area_writing);
    const auto tile_seconds = [&](double load) {
      // Ping-pong computes its only tile by half of its warps.
      const double stage = stage_seconds(running, load) * (kernel.pingpong && waves + last <= 1 ? 1.2 : 1);
      return static_cast<double>(divide_up(stages, parts)) * stage + write_us * 1e-6;
    };
    // A cluster that computes several tiles fetches the next one's operands during the epilogue.
    const bool several = kernel.work == GpuWork::clusters && parts == 1 && size_of(p.c) == 2 && c_is_aligned() &&
                         takes_several_tiles(static_cast<int>(kernel.tile.m), is_fp8(kernel.dtype));
    const double hidden = several ? std::max(std::ceil(waves + last) - 1, 0.0) * family.tile_us * 1e-6 : 0;
    const double blocks = waves * tile_seconds(1) + (last > 0 ? tile_seconds(last) : 0) - hidden;
    const double cluster =
        splits_in_cluster(kernel)
            ? 1e-6 * (family.part_us * std::log2(parts) + family.share_us * std::log2(shape.blocks()))
            : 0;
    // The next kernel's blocks begin before this one ends, if they fit beside its blocks.
    const double launch = family.launch_us + (2 * all > slots * most ? family.exposed_us : 0);
    return launch * 1e-6 + overlap(blocks, memory_seconds()) + cluster + pass_seconds(parts);
  }
};

}  // namespace

std::span<const EnumName<FamilyId>> enum_names(FamilyId) {
#define PBPROBE_FAMILY(name) {FamilyId::name, #name},
  static constexpr EnumName<FamilyId> kNames[] = {PBPROBE_FAMILIES(PBPROBE_FAMILY)};
#undef PBPROBE_FAMILY
  return kNames;
}

FamilyId find_family(const Kernel& kernel) {
  if (is_tcgen05(kernel)) return FamilyId::tcgen05;
  const bool blocks = kernel.block_scale != BlockScale::none;
  const auto of_type = [&](FamilyId any, FamilyId int8, FamilyId fp8) {
    return is_fp8(kernel.dtype) ? fp8 : kernel.dtype == DType::int8 ? int8 : any;
  };
  switch (kernel.work) {
    case GpuWork::small_m: return of_type(FamilyId::small_m, FamilyId::small_m_int8, FamilyId::small_m_fp8);
    case GpuWork::clusters:
      if (blocks) return FamilyId::clusters_blocks;
      // Tiles of 64 columns have one warpgroup that computes.
      if (kernel.tile.n == 64)
        return of_type(FamilyId::clusters_64, FamilyId::clusters_int8_64, FamilyId::clusters_fp8_64);
      // With three warpgroups two can multiply while one adds a stage's sums in FP32.
      return of_type(FamilyId::clusters, FamilyId::clusters_int8,
                     kernel.tile.n == 192 ? FamilyId::clusters_fp8_192 : FamilyId::clusters_fp8);
    case GpuWork::tma_mma: return FamilyId::tma_mma;
    case GpuWork::warpgroups:
      if (blocks) return FamilyId::warpgroups_blocks;
      if (kernel.pingpong) return of_type(FamilyId::pingpong, FamilyId::pingpong_int8, FamilyId::warpgroups_fp8);
      return of_type(FamilyId::warpgroups, FamilyId::warpgroups_int8, FamilyId::warpgroups_fp8);
    case GpuWork::blocks: break;
  }
  return kernel.instruction.starts_with("mma.sync") ? mma_family(kernel) : simt_family(kernel);
}

std::span<const Fit> fits() {
  return kFits;
}

bool has_costs(const Kernel& kernel, const Problem& problem) {
  constexpr int64_t kMostTiles = 5000;
  return kernel.work != GpuWork::clusters || tiles_of(kernel, problem) <= kMostTiles;
}

const Fit& find_fit(const Gpu& gpu) {
  const auto distance = [&](const Fit& fit) {
    return std::tuple(fit.device != gpu.name, std::abs(fit.sms - count_sms(gpu)));
  };
  return *std::min_element(std::begin(kFits), std::end(kFits),
                           [&](const Fit& a, const Fit& b) { return distance(a) < distance(b); });
}

double predict(const Kernel& kernel, const Problem& problem, const Gpu& gpu, int64_t parts, const ClusterShape& shape,
               const Family& costs) {
  Model model(kernel, problem, gpu, costs);
  if (has_shape(kernel, shape)) model.set_shape(shape);
  return model.seconds(std::clamp<int64_t>(parts, 1, model.most_parts()));
}

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

namespace {

Split best_clusters(const Kernel& kernel, const Problem& problem, const Gpu& gpu) {
  Model model(kernel, problem, gpu);
  Split best{1, {}, model.seconds(1)};
  for (const int64_t down : {1, 2, 4, 8}) {
    for (const int64_t across : {1, 2, 4, 8}) {
      const ClusterShape shape{down, across};
      if (!has_shape(kernel, shape)) continue;
      model.set_shape(shape);
      for (int64_t parts = 1; parts <= model.most_parts(); ++parts) {
        const double seconds = model.seconds(parts);
        if (seconds < best.seconds) best = {parts, shape, seconds};
      }
    }
  }
  return best;
}

}  // namespace

Split best_split(const Kernel& kernel, const Problem& problem, const Gpu& gpu) {
  if (kernel.work == GpuWork::clusters) return best_clusters(kernel, problem, gpu);
  const Model model(kernel, problem, gpu);
  Split best{1, {}, model.seconds(1)};
  for (int64_t parts = 2; parts <= model.most_parts(); ++parts) {
    const double seconds = model.seconds(parts);
    if (seconds < best.seconds) best = {parts, {}, seconds};
  }
  return best;
}

Split make_split(const Kernel& kernel, const Problem& problem, const Gpu& gpu, int64_t parts,
                 const ClusterShape& shape) {
  Model model(kernel, problem, gpu);
  const ClusterShape taken = has_shape(kernel, shape) ? shape : ClusterShape{};
  if (kernel.work == GpuWork::clusters) model.set_shape(taken);
  const int64_t there = std::clamp<int64_t>(parts, 1, model.most_parts());
  return {there, taken, model.seconds(there)};
}

}  // namespace pbprobe
