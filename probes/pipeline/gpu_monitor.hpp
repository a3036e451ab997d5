// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Measuring on GPUs that other processes may use. The facts and each figure record the other users.
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

// Runs measure_in_child. Reads the users of the GPUs before and after, when pbprobe runs nothing, and samples clock,
// power and temperature of all devices meanwhile.
[[nodiscard]] Result<Measurements> measure_with_gpu_monitor(const MeasureRequest& request,
                                                            const ChildLimits& limits = {},
                                                            const HostSources& sources = system_sources());

// Describes the other users of this GPU: processes with a context, or, before the measurement, more work than a display
// causes. `device` may name two GPUs: "cuda:0,1". Returns nullopt without other users, or if use is not reported.
[[nodiscard]] std::optional<std::string> describe_other_users(const std::vector<GpuUse>& uses,
                                                              const std::string& device);

// Adds one sample. If a trace grows too long, removes every second point and doubles the interval.
void add_points(std::vector<DeviceTrace>& traces, std::vector<std::pair<std::string, TracePoint>> points,
                std::chrono::milliseconds& between);

// Stores the uses, and marks figures of GPUs that other processes used.
void mark_disturbed(Measurements& measurements, std::vector<GpuUse> uses);

}  // namespace pbprobe
