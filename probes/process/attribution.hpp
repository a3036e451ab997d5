// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Whose fault it is if a GPU kernel of pbprobe fails or computes wrong: pbprobe's, unless kernels of every family fail.
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

// How trials run, and where Xid messages come from; tests put their own here.
struct AttributionSources {
  std::function<Result<Measurements>(const MeasureRequest& request)> run_process;
  std::function<std::optional<std::vector<std::string>>()> read_log;
  int64_t since_us = 0;  // when the measuring began, by the log's clock
};

// Runs the trials of each fault in processes of their own, reads the kernel log and sets the owner. `request` is what
// the faults come from. Other families are tried until one of the same instruction passes.
void attribute_faults(std::vector<KernelFault>& faults, const MeasureRequest& request,
                      const AttributionSources& sources);

// Returns what the trials show. The owner is pbprobe if a kernel of the same instruction passed, or if there is no such
// family and another one passed; of a probe, if all kernels passed. It is the machine if kernels of every family
// failed. A hardware Xid clears pbprobe.
[[nodiscard]] FaultOwner decide_owner(const KernelFault& fault);

}  // namespace pbprobe
