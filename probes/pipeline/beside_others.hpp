// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Measuring on GPUs that others may use too: who did is in the facts, and on each figure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/facts/measurement.hpp"
#include "core/host/host.hpp"
#include "core/result.hpp"
#include "probes/process/spawn.hpp"

namespace pbprobe {

// As measure_in_child, with a look at the GPUs before and after, when nothing of ours runs there, and at all devices'
// clocks, power and temperature meanwhile.
[[nodiscard]] Result<Measurements> measure_beside_others(const MeasureRequest& request, const ChildLimits& limits = {},
                                                         const HostSources& sources = system_sources());

// Who else used this GPU, in words: a process that holds a context, or, before we began, more work than a display's.
// "cuda:0,1" names two. Null: nobody, or it is not reported.
[[nodiscard]] std::optional<std::string> others_on(const std::vector<GpuUse>& uses, const std::string& device);

// Adds what was read at one moment. Where a trace grows too long, every second point stays, and the time between two is
// doubled.
void add_points(std::vector<DeviceTrace>& traces, std::vector<std::pair<std::string, TracePoint>> points,
                std::chrono::milliseconds& between);

// Keeps the uses, and marks what was measured on a GPU that others used.
void mark_disturbed(Measurements& measurements, std::vector<GpuUse> uses);

}  // namespace pbprobe
