// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Clock, power, temperature and throttling of a device while it was measured. Unknown is null.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

struct TracePoint {
  FIELD(double, seconds, "time since the measurement began") = 0;
  FIELD(std::optional<double>, clock_mhz, "SM clock of a GPU; for a CPU, clock of the fastest sampled core");
  FIELD(std::optional<double>, power_watts, "for a CPU, the sum of its packages");
  FIELD(std::optional<double>, celsius, "temperature");
  FIELD(std::optional<std::vector<std::string>>, limits,
        "causes of a lower clock, as NVML reports them; null without a report");
};

struct DeviceTrace {
  FIELD(std::string, device, "cpu or cuda:0");
  FIELD(std::vector<TracePoint>, points, "in the order of time");
};

}  // namespace pbprobe
