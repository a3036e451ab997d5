// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A small deterministic program for each area of a libtorch, compared with a reference in FP64: a build that crashes or
// computes wrong in one of them is caught, not only a slow one. To be called in a child process.
#pragma once

#include <functional>
#include <vector>

#include "core/facts/measurement.hpp"
#include "probes/measure/gpu_device.hpp"
#include "probes/measure/libtorch.hpp"

namespace pbprobe {

// On the CPU, or on `gpu`, in its stream. Each area is added before it is tried, as one that nothing came back from,
// and reported: where the process dies, that was it.
void check_areas(const Libtorch& library, const GpuDevice* gpu, std::vector<LibtorchArea>& areas,
                 const std::function<void()>& tell);

// What came of an area: skipped, wrong, or not run.
void tell_of(LibtorchArea& area, const Error& error);

}  // namespace pbprobe
