// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/process/attribution.hpp"

#include <algorithm>

#include "probes/process/kernel_log.hpp"

namespace pbprobe {
namespace {

constexpr double kTrialSeconds = 30;  // limit of one process
constexpr size_t kMaxFaults = 4;      // faults with trials: one defect often shows in many kernels

DType parse_dtype(std::string_view text) {
  for (const auto& [type, name] : kDTypeNames)
    if (name == text) return type;
  return DType::fp32;
}

BlockScale parse_blocks(std::string_view text) {
  for (const auto& [blocks, name] : kBlockScaleNames)
    if (name == text) return blocks;
  return BlockScale::none;
}

MeasureRequest make_request(const MeasureRequest& request, const std::string& device, const FaultTrial& trial) {
  MeasureRequest one{.host = request.host, .budget_seconds = kTrialSeconds / 2, .limit_seconds = kTrialSeconds};
  std::erase_if(one.host.gpus, [&](const Gpu& gpu) { return fmt::format("cuda:{}", gpu.index) != device; });
  one.benches = {{.target = trial.target,
                  .dtype = parse_dtype(trial.dtype),
                  .layout = trial.layout,
                  .blocks = parse_blocks(trial.blocks),
                  .out = parse_dtype(trial.out),
                  .shapes = {{.m = trial.m, .n = trial.n, .k = trial.k}},
                  .kernel = trial.kernel,
                  .launches = trial.launches,
                  .scaled = trial.scaled}};
  return one;
}

// A kernel that computed has a row.
void run_trial(FaultTrial& trial, const std::string& device, const MeasureRequest& request,
               const AttributionSources& sources) {
  const auto result = sources.run_process(make_request(request, device, trial));
  trial.outcome = TrialOutcome::could_not_run;
  if (!result.ok()) {
    trial.detail = result.error().message;
  } else if (result->kernel_faults && !result->kernel_faults->empty()) {
    trial.outcome = TrialOutcome::failed;
    trial.detail = result->kernel_faults->front().what;
  } else if (!result->problems.empty()) {
    trial.detail = result->problems.front();
  } else if (result->not_run && !result->not_run->empty()) {
    trial.detail = result->not_run->front().what;
  } else if (std::ranges::any_of(result->rows, [&](const BenchRow& row) { return row.kernel == trial.kernel; })) {
    trial.outcome = TrialOutcome::passed;
  } else {
    trial.detail = result->notes.empty() ? "it was not launched" : result->notes.back();
  }
}

}  // namespace

FaultOwner decide_owner(const KernelFault& fault) {
  size_t same = 0, same_passed = 0, passed = 0, failed = 0;
  for (const FaultTrial& trial : fault.others) {
    const bool is_same = trial.instruction == fault.again.instruction;
    same += is_same ? 1 : 0;
    same_passed += is_same && trial.outcome == TrialOutcome::passed ? 1 : 0;
    passed += trial.outcome == TrialOutcome::passed ? 1 : 0;
    failed += trial.outcome == TrialOutcome::failed ? 1 : 0;
  }
  const bool all_failed = !fault.others.empty() && failed == fault.others.size();
  const bool is_probe = fault.again.kernel.empty();  // no trial repeats a probe
  if (all_failed && (is_probe || fault.again.outcome == TrialOutcome::failed)) return FaultOwner::machine;
  if (fault.xid && is_hardware_xid(*fault.xid)) return FaultOwner::undecided;
  if (is_probe) return passed > 0 && passed == fault.others.size() ? FaultOwner::pbprobe : FaultOwner::undecided;
  if (same_passed > 0 || (same == 0 && passed > 0)) return FaultOwner::pbprobe;
  return FaultOwner::undecided;
}

void attribute_faults(std::vector<KernelFault>& faults, const MeasureRequest& request,
                      const AttributionSources& sources) {
  for (size_t i = 0; i < std::min(faults.size(), kMaxFaults); ++i) {
    KernelFault& fault = faults[i];
    if (!fault.again.kernel.empty()) run_trial(fault.again, fault.device, request, sources);
    for (FaultTrial& trial : fault.others) {
      run_trial(trial, fault.device, request, sources);
      fault.owner = decide_owner(fault);
      if (fault.owner == FaultOwner::pbprobe) break;
    }
    const auto log = sources.read_log();
    fault.log_read = log.has_value();
    if (log) fault.xid = find_xid(*log, sources.since_us);
    fault.owner = decide_owner(fault);
  }
}

}  // namespace pbprobe
