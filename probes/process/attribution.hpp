// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Owner of the fault if a GPU kernel of pbprobe fails or computes wrong: pbprobe, unless kernels of every family fail.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/kernel_fault.hpp"
#include "core/facts/measurement.hpp"
#include "core/result.hpp"
#include "probes/process/request.hpp"

namespace pbprobe {

// Functions that run trials and read Xid messages; tests replace them.
struct AttributionSources {
  std::function<Result<Measurements>(const MeasureRequest& request)> run_process;
  std::function<std::optional<std::vector<std::string>>()> read_log;
  int64_t since_us = 0;  // when the measuring began, by the log's clock
};

// Runs the trials of each fault in processes of their own, reads the kernel log and sets the owner. `request` is what
// the faults come from. Other families are tried until one of the same instruction passes.
void attribute_faults(std::vector<KernelFault>& faults, const MeasureRequest& request,
                      const AttributionSources& sources);

// Returns the owner that the trials prove. pbprobe: a kernel with the same instruction passed, or any kernel if no
// other family has the instruction; for a probe, all kernels passed. Machine: kernels of every family failed. A
// hardware Xid clears pbprobe.
[[nodiscard]] FaultOwner decide_owner(const KernelFault& fault);

}  // namespace pbprobe
