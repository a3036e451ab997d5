// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The cuDNN that a loaded libtorch works with: how many of its engines take a convolution on this GPU, by type, and
// whether the first that it proposes computes correctly.
#pragma once

#include <vector>

#include "core/facts/measurement.hpp"
#include "core/result.hpp"
#include "probes/measure/gpu_device.hpp"
#include "probes/measure/libtorch.hpp"

namespace pbprobe {

// A figure a type (BF16, INT8): engines that take it, of all that cuDNN knows for it; `proved`: one was run, and every
// element was right. Errors: unsupported (no cuDNN in this build), device, malformed (a wrong element); the other
// type's figure is there even so.
[[nodiscard]] Result<void> probe_cudnn(const Libtorch& library, const GpuDevice& device,
                                       std::vector<ProbeFigure>& figures);

}  // namespace pbprobe
