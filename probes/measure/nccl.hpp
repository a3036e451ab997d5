// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The NCCL that a loaded libtorch works with: one all-reduce over the GPUs of this host, or a loop through one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/facts/measurement.hpp"
#include "core/result.hpp"
#include "probes/measure/libtorch.hpp"

namespace pbprobe {

// Sums FP32 over these GPUs, which must be right in every element, and says how fast: with several, the bus bandwidth
// by NVIDIA's formula, bytes / time · 2(n−1)/n; with one, bytes / time. Errors: unsupported (no NCCL in this build),
// device, malformed (a wrong sum).
[[nodiscard]] Result<ProbeFigure> probe_nccl(const Libtorch& library, std::span<const int32_t> gpus);

}  // namespace pbprobe
