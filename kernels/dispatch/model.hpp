// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Model of a GPU kernel's time for a problem, and of the best split-K: the one model that ranks tiles, split-K and
// small-M kernels. Rates come from the target's row (recipes/targets.json) at the device's own clock; the kernels'
// overheads are fitted to measured times of one device (fits.inc, docs/kernels/model.md). Pure host code.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/facts/host.hpp"
#include "core/fields.hpp"
#include "kernels/gemm/plan.hpp"
#include "kernels/gemm/problem.hpp"
#include "kernels/gemm/table.hpp"

namespace pbprobe {

[[nodiscard]] int64_t count_sms(const Gpu& gpu);  // 64 if the driver does not report the count

// Families of kernels that share their costs.
// clang-format off
#define PBPROBE_FAMILIES(f) \
  f(tcgen05) f(small_m) f(small_m_int8) f(small_m_fp8) f(clusters) f(clusters_64) f(clusters_int8) \
  f(clusters_int8_64) f(clusters_fp8) f(clusters_fp8_64) f(clusters_fp8_192) f(clusters_blocks) f(tma_mma) \
  f(pingpong) f(pingpong_int8) f(warpgroups) f(warpgroups_int8) f(warpgroups_fp8) f(warpgroups_blocks) \
  f(mma_direct_64) f(mma_direct_32) f(mma_direct_narrow) f(mma_small_m) f(mma_staged) f(gemv) f(simt_thin) \
  f(simt_words) f(simt_128) f(simt_wide) f(simt_64) f(simt_32)
// clang-format on
#define PBPROBE_FAMILY(name) name,
enum class FamilyId { PBPROBE_FAMILIES(PBPROBE_FAMILY) count };
#undef PBPROBE_FAMILY
[[nodiscard]] std::span<const EnumName<FamilyId>> enum_names(FamilyId);
[[nodiscard]] FamilyId find_family(const Kernel& kernel);

// Cost of a family besides its instruction's rate.
struct Family {
  double launch_us;         // from the launch to the first operands, and from the last accumulators to the end
  double tile_us;           // for each tile, besides its stages
  double area_us;           // for each 128 × 128 of a tile on one SM, besides its stages
  double block_bytes;       // bytes of operands per clock that one block takes at most
  double sm_bytes;          // bytes of operands per clock that an SM takes if all SMs read
  double unaligned;         // factor on the time if the kernel reads unaligned rows
  double unaligned_us;      // and time added to each stage then
  double writing;           // factor on the time to write C if its rows are unaligned
  double memory;            // fraction of the memory's rate that the family reaches
  double area_writing = 1;  // factor on area_us if the rows of C are unaligned
  double part_us = 0.25;    // for each doubling of the parts of k in a cluster; once, if another kernel adds them
  double share_us = 0.25;   // for each doubling of the blocks of a cluster that share operands
  double stage_clocks = 0;  // for each stage, besides the multiplications
  double least_clocks = 0;  // lower limit for a stage
  double word_us = 0;       // added to area_us if C has elements of 4 bytes
  double split_us = 0;      // added to area_us if a cluster adds parts of k
  double cached = 2;        // like `memory`, if the L2 cache holds the operands and C
  double adding = 1.2;      // fraction of the memory's rate at which a kernel of its own adds parts
  double exposed_us = 0;    // added to launch_us if the SMs have no room for the blocks of the next kernel
};

// The costs on one device.
struct Fit {
  std::string_view device;  // name by the driver
  int64_t sms;
  std::string_view date;
  std::array<Family, static_cast<size_t>(FamilyId::count)> families;
};
[[nodiscard]] std::span<const Fit> fits();
// Reports whether the fits hold. Blocks in clusters compute one tile each: with many tiles they were not measured,
// since persistent kernels are faster.
[[nodiscard]] bool has_costs(const Kernel& kernel, const Problem& problem);
// Returns the fit of this device, else of the device with the nearest number of SMs.
[[nodiscard]] const Fit& find_fit(const Gpu& gpu);
// Returns the seconds of a kernel with these costs and this split, from launch to C.
[[nodiscard]] double predict(const Kernel& kernel, const Problem& problem, const Gpu& gpu, int64_t parts,
                             const ClusterShape& shape, const Family& costs);

// Preparation of an operand before the GEMM reads it.
enum class Pass { none, transpose, align };
struct Reading {
  Pass a = Pass::none;
  Pass b = Pass::none;
  bool unaligned = false;  // rows of an operand are read unaligned, element by element or shifted
};
// Decides which operands a pass transposes or aligns first, because the kernel cannot read them or reads them slowly.
[[nodiscard]] Reading plan_reading(const Kernel& kernel, const Problem& problem);

// Result of split-K. `parts` counts the blocks of a cluster if the kernel splits k in one.
struct Split {
  int64_t parts = 1;
  ClusterShape shape;
  double seconds = 0;  // time of the GEMM with these parts, from launch to C
};
// Returns the split with the least predicted time.
[[nodiscard]] Split best_split(const Kernel& kernel, const Problem& problem, const Gpu& gpu);
// Returns the split with as many parts as `parts`, or the most that k allows, and this shape if the kernel can have it.
[[nodiscard]] Split make_split(const Kernel& kernel, const Problem& problem, const Gpu& gpu, int64_t parts,
                               const ClusterShape& shape = {});

}  // namespace pbprobe
