// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A GPU kernel of pbprobe that failed or computed wrong, and what trials showed of whose fault that is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

enum class TrialOutcome : uint8_t { not_tried, passed, failed, could_not_run };
[[nodiscard]] std::span<const EnumName<TrialOutcome>> enum_names(TrialOutcome);

// pbprobe: other kernels with the same instruction work. machine: kernels of every family fail.
enum class FaultOwner : uint8_t { undecided, pbprobe, machine };
[[nodiscard]] std::span<const EnumName<FaultOwner>> enum_names(FaultOwner);

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
  int64_t launches = 0;  // that were asked for
  TrialOutcome outcome = TrialOutcome::not_tried;
  std::optional<std::string> detail;  // what failed, or why it could not run
};

struct KernelFault {
  std::string device;              // "cuda:0"
  std::string what;                // a sentence: the kernel, the problem, the error or the wrong element
  std::optional<std::string> xid;  // the kernel log's newest line on it; null: none, or the log is not readable
  std::optional<bool> log_read;    // whether the kernel log was readable; null: not tried
  FaultTrial again;                // the same kernel on the same problem
  std::vector<FaultTrial> others;  // one kernel of each other family; those of the same instruction come first
  FaultOwner owner = FaultOwner::undecided;
};

// Returns a sentence of what the trials showed, without the fault itself.
[[nodiscard]] std::string describe_trials(const KernelFault& fault);

template <class Visitor, SameAs<FaultTrial> T>
void fields(Visitor& visit, T& trial) {
  visit("kernel", trial.kernel, "the kernel that was launched");
  visit("target", trial.target, "whose kernel it is");
  visit("instruction", trial.instruction, "its path: \"wgmma\", \"mma.sync\"");
  visit("dtype", trial.dtype, "type of A and B");
  visit("out", trial.out, "type of C");
  visit("layout", trial.layout, "of A and B: nt, nn, tn, tt");
  visit("blocks", trial.blocks, "scales of blocks: one of the names of --block-scales");
  visit("scaled", trial.scaled, "C by a scale for each row and each column");
  visit("m", trial.m, "rows of C");
  visit("n", trial.n, "columns of C");
  visit("k", trial.k, "the length that is summed over");
  visit("launches", trial.launches, "that were asked for, in a process of its own");
  visit("outcome", trial.outcome, "not_tried, passed, failed or could_not_run");
  visit("detail", trial.detail, "what failed, or why it could not run");
}

template <class Visitor, SameAs<KernelFault> T>
void fields(Visitor& visit, T& fault) {
  visit("device", fault.device, "cuda:0");
  visit("what", fault.what, "the kernel, the problem, and the error or the wrong element");
  visit("xid", fault.xid, "the kernel log's newest line on it; null: none, or the log is not readable");
  visit("log_read", fault.log_read, "the kernel log was readable; null: not tried");
  visit("again", fault.again, "the same kernel on the same problem");
  visit("others", fault.others, "one kernel of each other family; those of the same instruction come first");
  visit("owner", fault.owner, "whose fault it is: undecided, pbprobe or machine");
}

}  // namespace pbprobe
