// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/gpu/idle_code.hpp"

namespace pbprobe {
namespace {

bool exceeds(int64_t part, double limit, int64_t whole) {
  return static_cast<double>(part) > limit * static_cast<double>(whole);
}

}  // namespace

std::optional<Sentence> find_idle_code(const SmCensus& code, const IdleLimits& limits, std::string_view file,
                                       std::string_view target) {
  if (code.cubins == 0) return std::nullopt;
  if (code.kernels == 0)
    return say("{} is claimed, and no cubin of {} for it holds a kernel (cubins for it: {})", target, file,
               code.cubins);
  if (exceeds(code.empty_cubins, limits.empty_cubins, code.cubins))
    return say("{} is claimed, and {} of the {} cubins of {} for it {} no kernel", target, code.empty_cubins,
               code.cubins, file, select_by_number(code.empty_cubins, "holds", "hold"));
  const std::string first = code.idle.empty() ? "" : kernel_name(code.idle.front());
  if (exceeds(code.idle_kernels, limits.idle_kernels, code.kernels))
    return say("{} is claimed, and {} of the {} kernels of {} for it {} nothing: {}", target, code.idle_kernels,
               code.kernels, file, select_by_number(code.idle_kernels, "does", "do"), first);
  if (exceeds(code.idle_cubins.value_or(0), limits.idle_cubins, code.cubins))
    return say("{} is claimed, and all kernels of {} of the {} cubins of {} for it do nothing: {}", target,
               *code.idle_cubins, code.cubins, file, first);
  return std::nullopt;
}

}  // namespace pbprobe
