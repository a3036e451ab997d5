// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/cuda/host/overlap.hpp"

#include <string_view>

#include "core/sm.hpp"
#include "core/targets.hpp"
#include "kernels/cuda/host/tcgen05.hpp"

namespace pbprobe {

bool awaits_kernels_ahead(const Kernel& kernel) {
  constexpr int kFirstMajor = 9;
  if (is_tcgen05(kernel)) return false;
  const Target* const target = find_target(kernel.target);
  const TargetBuild* const build = find_build(kernel.target);
  if (target == nullptr || build == nullptr) return false;
  const auto sm = parse_sm(build->ptx.empty() ? target->architecture : build->ptx);
  return sm && sm->major >= kFirstMajor &&
         (kernel.work != GpuWork::blocks || kernel.reads_any_rows || kernel.peak == "peak_fp32");
}

int64_t shared_of_one_block(const Kernel& kernel) {
  if (kernel.work != GpuWork::blocks || kernel.blocks < 2 || !awaits_kernels_ahead(kernel)) return 0;
  return find_target(kernel.target)->limits.shared_per_sm_bytes.value_or(0) / 2;
}

}  // namespace pbprobe
