// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A GPU kernel of pbprobe that failed or computed wrong, with the trials that show the owner of the fault.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

enum class TrialOutcome : uint8_t { not_tried, passed, failed, could_not_run };

// pbprobe: other kernels with the same instruction work. machine: kernels of every family fail.
enum class FaultOwner : uint8_t { undecided, pbprobe, machine };

// Many launches of one kernel in a process of its own.
struct FaultTrial {
  FIELD(std::string, kernel, "the kernel that was launched");
  FIELD(std::string, target, "target of the kernel");
  FIELD(std::string, instruction, "instruction path: \"wgmma\", \"mma.sync\"");
  FIELD(std::string, dtype, "type of A and B");
  FIELD(std::string, out, "type of C");
  FIELD(std::string, layout, "layout of A and B: nt, nn, tn, tt");
  FIELD(std::string, blocks, "scales of blocks: one of the names of --block-scales");
  FIELD(bool, scaled, "C by a scale for each row and each column") = false;
  FIELD(int64_t, m, "rows of C") = 0;
  FIELD(int64_t, n, "columns of C") = 0;
  FIELD(int64_t, k, "the length that is summed over") = 0;
  FIELD(int64_t, launches, "requested launches, in a separate process") = 0;
  FIELD(TrialOutcome, outcome, "not_tried, passed, failed or could_not_run") = TrialOutcome::not_tried;
  FIELD(std::optional<std::string>, detail, "failure, or reason why it could not run");
};

// Fault of a pbprobe kernel on a GPU, with the trials that decide whether pbprobe or the machine is at fault.
struct KernelFault {
  FIELD(std::string, device, "cuda:0");
  FIELD(std::string, what, "the kernel, the problem, and the error or the wrong element");
  FIELD(std::optional<std::string>, xid,
        "newest line of the kernel log on it; null if none, or if the log is not readable");
  FIELD(std::optional<bool>, log_read, "the kernel log was readable; null if not tried");
  FIELD(FaultTrial, again, "repetition of this kernel on this problem");
  FIELD(std::vector<FaultTrial>, others, "one kernel of each other family, kernels with the same instruction first");
  FIELD(FaultOwner, owner, "owner of the fault: undecided, pbprobe or machine") = FaultOwner::undecided;
};

// Returns a sentence of what the trials showed, without the fault itself.
[[nodiscard]] std::string describe_trials(const KernelFault& fault);

}  // namespace pbprobe
