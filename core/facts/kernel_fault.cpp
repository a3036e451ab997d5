// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/facts/kernel_fault.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pbprobe {
namespace {

std::string describe_again(const FaultTrial& again) {
  switch (again.outcome) {
    case TrialOutcome::not_tried: return "the failing kernel was not run again in a separate process";
    case TrialOutcome::passed:
      return fmt::format("{} launches of the kernel in a separate process did not fail again", again.launches);
    case TrialOutcome::failed: return "the kernel fails again in a separate process";
    case TrialOutcome::could_not_run: return "the kernel could not be run again in a separate process";
  }
  return "";
}

}  // namespace

std::string describe_trials(const KernelFault& fault) {
  std::string text = describe_again(fault.again);
  for (const auto& [outcome, verb] :
       {std::pair(TrialOutcome::passed, "passed"), std::pair(TrialOutcome::failed, "failed"),
        std::pair(TrialOutcome::could_not_run, "could not run")}) {
    std::vector<std::string> kernels;
    for (const FaultTrial& trial : fault.others)
      if (trial.outcome == outcome) kernels.push_back(fmt::format("{} ({})", trial.kernel, trial.instruction));
    if (!kernels.empty()) text += fmt::format("; {} {}", fmt::join(kernels, ", "), verb);
  }
  if (fault.xid) {
    text += fmt::format("; the kernel log has \"{}\"", *fault.xid);
  } else if (fault.log_read) {
    text += *fault.log_read ? "; the kernel log has no Xid" : "; the kernel log is not readable";
  }
  return text;
}

}  // namespace pbprobe
