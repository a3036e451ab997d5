// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/gemm/table.hpp"
#include "kernels/gemm/toolkit.hpp"

#include "kernels/built.hpp"    // PBPROBE_BUILDS, _PARTS: a row for each cubin (kernels/CMakeLists.txt)
#include "kernels/digests.hpp"  // PBPROBE_DIGEST_<id>, _SOURCES_<id>, _SPILLS_<id> (cmake/KernelBuilds.cmake)

// The cubins that cmake/Kernels.cmake embeds.
#define PBPROBE_CPU(id, digest)
#define PBPROBE_GPU(id, digest, ptx)               \
  extern "C" const std::byte pbprobe_cubin_##id[]; \
  extern "C" const std::byte pbprobe_cubin_##id##_end[];
#define PBPROBE_NOT_BUILT(id, why)
#define PBPROBE_PART(target, part, id)             \
  extern "C" const std::byte pbprobe_cubin_##id[]; \
  extern "C" const std::byte pbprobe_cubin_##id##_end[];
#define PBPROBE_PART_NOT_BUILT(target, part, why)
PBPROBE_BUILDS
PBPROBE_PARTS
#undef PBPROBE_CPU
#undef PBPROBE_GPU
#undef PBPROBE_NOT_BUILT
#undef PBPROBE_PART
#undef PBPROBE_PART_NOT_BUILT

namespace pbprobe {

std::span<const TargetBuild> target_builds() {
#define PBPROBE_CPU(id, digest_) TargetBuild{.target = #id, .built = true, .digest = digest_},
#define PBPROBE_GPU(id, digest_, ptx_)                                                                           \
  TargetBuild{.target = #id,                                                                                     \
              .built = true,                                                                                     \
              .digest = digest_,                                                                                 \
              .frame = {pbprobe_cubin_##id, static_cast<size_t>(pbprobe_cubin_##id##_end - pbprobe_cubin_##id)}, \
              .ptx = ptx_,                                                                                       \
              .source_digest = PBPROBE_SOURCES_##id,                                                             \
              .spill_bytes = PBPROBE_SPILLS_##id},
#define PBPROBE_NOT_BUILT(id, why) TargetBuild{.target = #id, .why_not = why},
  static const TargetBuild builds[] = {PBPROBE_BUILDS};
#undef PBPROBE_CPU
#undef PBPROBE_GPU
#undef PBPROBE_NOT_BUILT
  return builds;
}

std::span<const TargetBuild> part_builds() {
#define PBPROBE_PART(target_, part_, id)                                                                         \
  TargetBuild{.target = #target_,                                                                                \
              .part = #part_,                                                                                    \
              .built = true,                                                                                     \
              .digest = PBPROBE_DIGEST_##id,                                                                     \
              .frame = {pbprobe_cubin_##id, static_cast<size_t>(pbprobe_cubin_##id##_end - pbprobe_cubin_##id)}, \
              .source_digest = PBPROBE_SOURCES_##id,                                                             \
              .spill_bytes = PBPROBE_SPILLS_##id},
#define PBPROBE_PART_NOT_BUILT(target_, part_, why) TargetBuild{.target = #target_, .part = #part_, .why_not = why},
  static const TargetBuild builds[] = {PBPROBE_PARTS};
#undef PBPROBE_PART
#undef PBPROBE_PART_NOT_BUILT
  return builds;
}

std::string_view cuda_compilers() {
  return PBPROBE_CUDA_COMPILERS;
}

}  // namespace pbprobe
