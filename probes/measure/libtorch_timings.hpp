// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// How long a libtorch takes for each area, on operands large enough that its kernels count and not its dispatch. To be
// called in a child process, after the areas were found right.
#pragma once

#include <functional>
#include <vector>

#include "core/facts/measurement.hpp"
#include "probes/measure/gpu_device.hpp"
#include "probes/measure/libtorch.hpp"

namespace pbprobe {

// On the CPU, or on `gpu`, in its stream. An area that libtorch refuses has no timing. `tell` is called before each.
void time_areas(const Libtorch& library, const GpuDevice* gpu, std::vector<AreaTiming>& timings,
                const std::function<void(std::string_view area)>& tell);

}  // namespace pbprobe
