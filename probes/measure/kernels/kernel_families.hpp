// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Families of GPU kernels, each with a source of its own, and the trials that tell a defect of one from one of the GPU.
#pragma once

#include <string>
#include <vector>

#include "core/facts/host.hpp"
#include "core/facts/kernel_fault.hpp"
#include "kernels/gemm/plan.hpp"
#include "kernels/gemm/table.hpp"

namespace pbprobe {

// Launches of one trial: what fails once in a thousand launches fails with a chance of 98 %.
inline constexpr int64_t kTrialLaunches = 4000;

// Returns a name of the kernel's family: kernels of one family share their source.
[[nodiscard]] std::string describe_family(const Kernel& kernel);

// Returns the trial that repeats a plan.
[[nodiscard]] FaultTrial make_trial(const Plan& plan);

// Family of a kernel that failed; empty for a probe, which has no kernel of the table.
struct SuspectFamily {
  std::string target;
  std::string instruction;
  std::string family;
};

// Returns a trial of one kernel of each other family of the target that `host` can run on this GPU, on a problem of
// moderate size. Families with the instruction of the suspect come first.
[[nodiscard]] std::vector<FaultTrial> list_other_families(const SuspectFamily& suspect, const Host& host, int64_t gpu);

}  // namespace pbprobe
