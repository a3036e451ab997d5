// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/kernels/kernel_families.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "kernels/dispatch/choose.hpp"
#include "probes/measure/kernels/bench.hpp"

namespace pbprobe {

std::string describe_family(const Kernel& kernel) {
  const std::string_view prefix = kernel.function_name.substr(0, kernel.function_name.find('_'));
  return fmt::format("{} {}{}{}{}{}", prefix, static_cast<int>(kernel.work), kernel.pingpong ? ", ping-pong" : "",
                     kernel.small_k ? ", small k" : "", is_fp8(kernel.dtype) ? ", FP8" : "",
                     kernel.block_scale != BlockScale::none ? ", blocks" : "");
}

FaultTrial make_trial(const Plan& plan) {
  const Problem& p = plan.problem;
  return {.kernel = std::string(plan.kernel->name),
          .target = std::string(plan.kernel->target),
          .instruction = std::string(plan.kernel->instruction),
          .dtype = std::string(name_of(p.a)),
          .out = std::string(name_of(p.c)),
          .layout = std::string(name_of(p.layout)),
          .blocks = std::string(name_of(p.blocks)),
          .scaled = p.scale_a,
          .m = p.m,
          .n = p.n,
          .k = numbers_along_k(p),
          .launches = kTrialLaunches};
}

std::vector<FaultTrial> list_other_families(const SuspectFamily& suspect, const Host& host, int64_t gpu) {
  constexpr int64_t kSize = 1024;
  std::set<std::string> known{suspect.family};
  std::vector<FaultTrial> trials;
  for (const Kernel& other : kernel_table()) {
    if (other.target != suspect.target || other.threads == 0 || other.block_scale != BlockScale::none) continue;
    if (known.contains(describe_family(other))) continue;
    const Problem problem = make_problem(std::min(kSize, other.max_m), kSize, kSize, other.dtype);
    const auto plan = choose(problem, host, {}, {.kernel = std::string(other.name), .gpu = gpu});
    if (!plan.ok()) continue;
    known.insert(describe_family(other));
    trials.push_back(make_trial(*plan));
  }
  std::stable_partition(trials.begin(), trials.end(),
                        [&](const FaultTrial& trial) { return trial.instruction == suspect.instruction; });
  return trials;
}

}  // namespace pbprobe
