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
  double seconds = 0;                 // time since the measurement began
  std::optional<double> clock_mhz;    // SM clock of a GPU; for a CPU, clock of the fastest sampled core
  std::optional<double> power_watts;  // for a CPU, the sum of its packages
  std::optional<double> celsius;
  std::optional<std::vector<std::string>> limits;  // causes of a lower clock: "power cap"; null if not reported
};

struct DeviceTrace {
  std::string device;  // "cpu", "cuda:0"
  std::vector<TracePoint> points;
};

void fields(auto& visit, SameAs<TracePoint> auto& point) {
  visit("seconds", point.seconds, "time since the measurement began");
  visit("clock_mhz", point.clock_mhz, "SM clock of a GPU; for a CPU, clock of the fastest sampled core");
  visit("power_watts", point.power_watts, "for a CPU, the sum of its packages");
  visit("celsius", point.celsius, "temperature");
  visit("limits", point.limits, "causes of a lower clock, as NVML reports them; null without a report");
}

void fields(auto& visit, SameAs<DeviceTrace> auto& trace) {
  visit("device", trace.device, "cpu or cuda:0");
  visit("points", trace.points, "in the order of time");
}

}  // namespace pbprobe
