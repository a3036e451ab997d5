// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// How fast a libtorch is on a GPU where it matters most, against the peaks that our own probes find there, and by which
// kernels: their names, and the machine code that the driver took for them.
#pragma once

#include <vector>

#include "core/facts/host.hpp"
#include "core/facts/measurement.hpp"
#include "probes/measure/gpu_device.hpp"
#include "probes/measure/libtorch.hpp"
#include "probes/process/events.hpp"

namespace pbprobe {

// Elementwise, mm, convolution and attention, in the GPU's stream, which libtorch must be working in. Fills run.speeds
// and run.kernels; what could not be run is a note.
void measure_speeds(const Libtorch& library, const GpuDevice& device, const Gpu& gpu, LibtorchRun& run,
                    EventWriter& events);

}  // namespace pbprobe
