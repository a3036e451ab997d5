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
  std::string kernel;
  std::string target;
  std::string instruction;
  std::string dtype;
  std::string out;
  std::string layout;
  std::string blocks;
  bool scaled = false;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t launches = 0;  // requested launches
  TrialOutcome outcome = TrialOutcome::not_tried;
  std::optional<std::string> detail;  // failure, or reason why it could not run
};

struct KernelFault {
  std::string device;              // "cuda:0"
  std::string what;                // a sentence: the kernel, the problem, the error or the wrong element
  std::optional<std::string> xid;  // newest line of the kernel log; null if none, or not readable
  std::optional<bool> log_read;    // the kernel log was readable; null if not tried
  FaultTrial again;                // repetition of this kernel on this problem
  std::vector<FaultTrial> others;  // one kernel of each other family, kernels with the same instruction first
  FaultOwner owner = FaultOwner::undecided;
};

// Returns a sentence of what the trials showed, without the fault itself.
[[nodiscard]] std::string describe_trials(const KernelFault& fault);

void fields(auto& visit, SameAs<FaultTrial> auto& trial) {
  visit("kernel", trial.kernel, "the kernel that was launched");
  visit("target", trial.target, "target of the kernel");
  visit("instruction", trial.instruction, "instruction path: \"wgmma\", \"mma.sync\"");
  visit("dtype", trial.dtype, "type of A and B");
  visit("out", trial.out, "type of C");
  visit("layout", trial.layout, "layout of A and B: nt, nn, tn, tt");
  visit("blocks", trial.blocks, "scales of blocks: one of the names of --block-scales");
  visit("scaled", trial.scaled, "C by a scale for each row and each column");
  visit("m", trial.m, "rows of C");
  visit("n", trial.n, "columns of C");
  visit("k", trial.k, "the length that is summed over");
  visit("launches", trial.launches, "requested launches, in a separate process");
  visit("outcome", trial.outcome, "not_tried, passed, failed or could_not_run");
  visit("detail", trial.detail, "failure, or reason why it could not run");
}

void fields(auto& visit, SameAs<KernelFault> auto& fault) {
  visit("device", fault.device, "cuda:0");
  visit("what", fault.what, "the kernel, the problem, and the error or the wrong element");
  visit("xid", fault.xid, "newest line of the kernel log on it; null if none, or if the log is not readable");
  visit("log_read", fault.log_read, "the kernel log was readable; null if not tried");
  visit("again", fault.again, "repetition of this kernel on this problem");
  visit("others", fault.others, "one kernel of each other family, kernels with the same instruction first");
  visit("owner", fault.owner, "owner of the fault: undecided, pbprobe or machine");
}

}  // namespace pbprobe
