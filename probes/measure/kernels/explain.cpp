// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/ranges.h>

#include "core/targets.hpp"
#include "probes/measure/kernels/bench.hpp"

namespace pbprobe {
namespace {

// Adds the target's device to `host` if it is missing: plans depend on the cubin and the number of SMs, or on the CPU's
// features. Returns the supposition; nullopt if the host has the device.
std::optional<std::string> suppose(const Target& target, int64_t sms, Host& host) {
  if (target.kind == TargetKind::cpu) {
    auto& here = host.cpu.targets;
    if (std::ranges::find(here, target.id) != here.end()) return std::nullopt;
    here.push_back(target.id);
    return fmt::format("these choices are for a CPU of target {}: this machine has another CPU", target.id);
  }
  const auto is_it = [&](const Gpu& gpu) { return gpu.target == target.id && !gpu.problem; };
  if (std::ranges::any_of(host.gpus, is_it)) return std::nullopt;
  host.gpus.push_back({.index = static_cast<int64_t>(host.gpus.size()),
                       .name = target.id,
                       .capability = target.capability.value_or(""),
                       .target = target.id,
                       .sm_count = sms});
  return fmt::format("these choices are for a GPU of target {} with {} SMs (--sms): this machine has no such GPU",
                     target.id, sms);
}

// Returns why this program cannot run kernels of the target; nullopt if it has all of them.
std::optional<std::string> find_unbuilt(const Target& target) {
  if (const TargetBuild* const build = find_build(target.id); build != nullptr && !build->built)
    return fmt::format("kernels of {} ({})", target.id, build->why_not);
  std::vector<std::string> parts;
  for (const TargetBuild& part : part_builds())
    if (part.target == target.id && !part.built)
      parts.push_back(fmt::format("{} kernels ({})", part.part, part.why_not));
  if (parts.empty()) return std::nullopt;
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Joins what a plan supposes; nullopt if it supposes nothing.
std::optional<std::string> join_suppositions(std::optional<std::string> device, std::optional<std::string> kernels) {
  if (!device || !kernels) return device ? device : kernels;
  return fmt::format("{}; {}", *device, *kernels);
}

// The model chooses between kernels of one path only.
bool compared(const Plan& plan, const Plan& chosen) {
  return chosen.model_seconds > 0 && plan.model_seconds > 0 && peak_of(*plan.kernel) == peak_of(*chosen.kernel);
}

PlannedKernel planned(const Plan& plan, const Plan* chosen, bool gpu) {
  PlannedKernel kernel{.kernel = std::string(plan.kernel->name),
                       .chosen = &plan == chosen,
                       .tile = fmt::format("{}x{}", plan.tile.m, plan.tile.n),
                       .parts = plan.split,
                       .workspace_bytes = plan.workspace_bytes,
                       .why = plan.why};
  if (gpu) {
    kernel.blocks = plan.grid.x * plan.grid.y * plan.grid.z;
    kernel.cluster = plan.gpu.cluster;
  }
  if (plan.model_seconds > 0) kernel.model_us = plan.model_seconds * 1e6;
  if (chosen != nullptr && compared(plan, *chosen)) kernel.model = plan.model_seconds / chosen->model_seconds;
  return kernel;
}

}  // namespace

Result<PlanList> explain_bench(const BenchRequest& bench, const Host& host, int64_t sms) {
  Host supposed_host = host;
  std::optional<std::string> supposed;
  if (bench.target) {
    PBPROBE_TRY(const Target* const target, require_target(*bench.target));
    PBPROBE_CHECK(check_prepacked(*target, bench.prepacked));
    supposed = join_suppositions(suppose(*target, sms, supposed_host), find_unbuilt(*target));
  }
  PlanList list;
  PBPROBE_CHECK(check_blocks(bench));
  for (BenchCase one : plan_cases(bench, supposed_host)) {
    one.unbuilt = bench.target.has_value();
    const Problem& p = one.problem;
    PBPROBE_CHECK(validate(p));
    CasePlans plans = plan_case(one, supposed_host);
    PlannedGemm gemm{
        .device = one.gpu ? fmt::format("cuda:{}", *one.gpu) : "cpu",
        .supposed = supposed,
        .dtype = std::string(name_of(p.a)),
        .blocks = p.blocks == BlockScale::none ? std::nullopt : std::optional(std::string(name_of(p.blocks))),
        .m = p.m,
        .n = p.n,
        .k = numbers_along_k(p),
        .layout = std::string(name_of(p.layout)),
        .out = std::string(name_of(p.c))};
    if (plans.plans.empty()) gemm.why_not = plans.why_not;
    const auto chosen =
        std::ranges::find_if(plans.plans, [&](const Plan& plan) { return plan.kernel->name == plans.best; });
    for (const Plan& plan : plans.plans)
      gemm.kernels.push_back(planned(plan, chosen != plans.plans.end() ? &*chosen : nullptr, one.gpu.has_value()));
    list.gemms.push_back(std::move(gemm));
  }
  return list;
}

}  // namespace pbprobe
