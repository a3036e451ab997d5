// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/gemm/table.hpp"

#include <fmt/ranges.h>

#include "kernels/built.hpp"  // PBPROBE_HAS_<id>: cpu, gpu or none; PBPROBE_BUILDS (kernels/CMakeLists.txt)
#include "kernels/cuda/tile_sizes.hpp"
#include "kernels/gemm/problem.hpp"

// A built CPU target's functions are declared, and no others: PBPROBE_HAS_<id> picks one of three macros.
#define PBPROBE_PASTE(a, b) a##b
#define PBPROBE_DECLARE(kind, result, target, name, ...) \
  PBPROBE_PASTE(PBPROBE_DECLARE_, kind)(result, target, name, __VA_ARGS__)
#define PBPROBE_DECLARE_cpu(result, target, name, ...) \
  namespace target {                                   \
  result name(__VA_ARGS__);                            \
  }
#define PBPROBE_DECLARE_gpu(result, target, name, ...)
#define PBPROBE_DECLARE_none(result, target, name, ...)
#define PBPROBE_FUNCTION(kind, target, name) PBPROBE_PASTE(PBPROBE_FUNCTION_, kind)(target, name)
#define PBPROBE_FUNCTION_cpu(target, name) &target::name
#define PBPROBE_FUNCTION_gpu(target, name) nullptr
#define PBPROBE_FUNCTION_none(target, name) nullptr
#define PBPROBE_IS_BUILT(kind) PBPROBE_PASTE(PBPROBE_IS_BUILT_, kind)
#define PBPROBE_IS_BUILT_cpu true
#define PBPROBE_IS_BUILT_gpu true
#define PBPROBE_IS_BUILT_none false

namespace pbprobe {

#define PBPROBE_PART_KERNEL(target, part, name, ...)
#define PBPROBE_PART_PEAK(target, part, name, ...)
#define PBPROBE_KERNEL(target, name, ...) \
  PBPROBE_DECLARE(PBPROBE_HAS_##target, void, target, name, const CpuCall&, const CpuTask&)
#define PBPROBE_PEAK(target, name, ...) PBPROBE_DECLARE(PBPROBE_HAS_##target, uint64_t, target, name, int64_t)
#include "kernels/gemm/kernels.inc"
#undef PBPROBE_KERNEL
#undef PBPROBE_PART_KERNEL
#undef PBPROBE_PEAK

namespace {

constexpr DTypes kFloatResults{DType::fp32, DType::bf16, DType::fp16};
constexpr DTypes kIntegerResults{DType::int32, DType::fp32, DType::bf16, DType::fp16};

constexpr Kernel kKernels[] = {
#define PBPROBE_KERNEL(id, name_, ...)                              \
  Kernel{.target = #id,                                             \
         .name = #name_ "_" #id,                                    \
         .function_name = #name_,                                   \
         .built = PBPROBE_IS_BUILT(PBPROBE_HAS_##id),               \
         .function = PBPROBE_FUNCTION(PBPROBE_HAS_##id, id, name_), \
         __VA_ARGS__},
#define PBPROBE_PART_KERNEL(id, part_, name_, ...)              \
  Kernel{.target = #id,                                         \
         .part = #part_,                                        \
         .name = #name_ "_" #id,                                \
         .function_name = #name_,                               \
         .built = PBPROBE_IS_BUILT(PBPROBE_HAS_##id##_##part_), \
         __VA_ARGS__},
#define PBPROBE_PEAK(id, name_, ...)
#include "kernels/gemm/kernels.inc"
#undef PBPROBE_KERNEL
#undef PBPROBE_PART_KERNEL
#undef PBPROBE_PART_PEAK
#undef PBPROBE_PEAK
};

constexpr Peak kPeaks[] = {
#define PBPROBE_KERNEL(id, name_, ...)
#define PBPROBE_PART_KERNEL(id, part_, name_, ...)
#define PBPROBE_PART_PEAK(id, part_, name_, ...)              \
  Peak{.target = #id,                                         \
       .part = #part_,                                        \
       .name = #name_ "_" #id,                                \
       .function_name = #name_,                               \
       .built = PBPROBE_IS_BUILT(PBPROBE_HAS_##id##_##part_), \
       __VA_ARGS__},
#define PBPROBE_PEAK(id, name_, ...)                              \
  Peak{.target = #id,                                             \
       .name = #name_ "_" #id,                                    \
       .function_name = #name_,                                   \
       .built = PBPROBE_IS_BUILT(PBPROBE_HAS_##id),               \
       .function = PBPROBE_FUNCTION(PBPROBE_HAS_##id, id, name_), \
       __VA_ARGS__},
#include "kernels/gemm/kernels.inc"
#undef PBPROBE_KERNEL
#undef PBPROBE_PART_KERNEL
#undef PBPROBE_PART_PEAK
#undef PBPROBE_PEAK
};

const TargetBuild& build_of(std::string_view target, std::string_view part) {
  static const TargetBuild none{.why_not = "not built: this version has no cubin of this target"};
  const auto builds = part.empty() ? target_builds() : part_builds();
  for (const auto& build : builds) {
    if (build.target == target && build.part == part) return build;
  }
  return none;
}

}  // namespace

std::span<const Kernel> kernel_table() {
  return kKernels;
}

std::span<const Peak> peak_table() {
  return kPeaks;
}

Layout layout_read(const Kernel& kernel, Layout layout) {
  const bool a_km = a_is_km(layout) && !kernel.k_major && !kernel.a_k_major;
  const bool b_nk = b_is_nk(layout) || kernel.k_major;
  if (a_km) return b_nk ? Layout::tt : Layout::tn;
  return b_nk ? Layout::nt : Layout::nn;
}

// TF32 is rounded by TMA, which threads do not do; with scales of blocks there are no registers left for it.
bool reads_unaligned_rows(const Kernel& kernel) {
  return kernel.work == GpuWork::small_m && kernel.dtype != DType::tf32 && kernel.block_scale == BlockScale::none;
}

std::vector<std::string> symbols_of(const Kernel& kernel) {
  std::vector<std::string> symbols;
  for (const auto& [layout, name] : enum_names(Layout{})) {
    if (layout_read(kernel, layout) == layout) symbols.push_back(fmt::format("{}_{}", kernel.function_name, name));
  }
  if (reads_unaligned_rows(kernel)) symbols.push_back(fmt::format("{}{}", kernel.function_name, kUnalignedVariant));
  return symbols;
}

std::span<const std::string_view> pass_symbols() {
  static constexpr std::string_view kSymbols[] = {"repack_1",    "repack_2",     "repack_4",
                                                  "reduce_fp32", "reduce_int32", "probe_read",
                                                  "probe_copy",  "probe_shared", "probe_nothing"};
  return kSymbols;
}

std::span<const std::string_view> tensor_probe_symbols(std::string_view target) {
  static constexpr std::string_view kSymbols[] = {"probe_tensor_copy", "probe_multicast", "probe_cluster"};
  for (const auto& kernel : kKernels) {
    if (kernel.target == target && kernel.work == GpuWork::warpgroups) return kSymbols;
  }
  return {};
}

std::string proof_symbol(const Peak& peak) {
  return "proof" + std::string(peak.function_name.substr(peak.function_name.find('_')));
}

const Kernel* find_kernel(std::string_view name) {
  for (const auto& kernel : kKernels) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

Result<const Kernel*> require_kernel(std::string_view name) {
  if (const auto* kernel = find_kernel(name)) return kernel;
  std::vector<std::string_view> names;
  for (const auto& kernel : kKernels) names.push_back(kernel.name);
  return make_error(ErrorCode::usage, "unknown kernel \"{}\": choose one of {}", name, fmt::join(names, ", "));
}

const Peak* peak_of(const Kernel& kernel) {
  for (const auto& peak : kPeaks) {
    if (peak.target == kernel.target && peak.function_name == kernel.peak) return &peak;
  }
  return nullptr;
}

const Peak* clock_of(std::string_view target) {
  for (const auto& peak : kPeaks) {
    if (peak.target == target && peak.cycles > 0) return &peak;
  }
  return nullptr;
}

const TargetBuild& build_of(const Kernel& kernel) {
  return build_of(kernel.target, kernel.part);
}

const TargetBuild& build_of(const Peak& peak) {
  return build_of(peak.target, peak.part);
}

const TargetBuild* find_build(std::string_view target) {
  for (const auto& build : target_builds()) {
    if (build.target == target) return &build;
  }
  return nullptr;
}

}  // namespace pbprobe
