// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Measures how long the threads of this process waited for a CPU that other processes used. Times that include such
// waiting give no rate of a kernel. Source: /proc/PID/task/TID/schedstat (Documentation/scheduler/sched-stats.rst).
#pragma once

#include <optional>
#include <string>

namespace pbprobe {

struct CpuTime {
  double ran_seconds = 0;
  double waited_seconds = 0;
};

// Returns the sum over the threads of this process; zero on kernels without CONFIG_SCHED_INFO.
[[nodiscard]] CpuTime read_cpu_time();

// Describes a wait of more than 10 % of the time between two reads.
[[nodiscard]] std::optional<std::string> describe_cpu_wait(const CpuTime& before, const CpuTime& after);

}  // namespace pbprobe
