// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Clock, power and temperature of this machine's CPU and GPUs, at one moment after the other. Creates no CUDA context.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/driver/driver_api.hpp"
#include "core/facts/trace.hpp"
#include "core/host/host.hpp"

namespace pbprobe {

// A GPU of NVML's by its number in CUDA; null where either does not know it.
[[nodiscard]] std::optional<NvmlDevice> nvml_device(const DriverApi& driver, const NvmlApi& nvml, int index);

class Sensors {
 public:
  explicit Sensors(HostSources sources, bool gpus);
  ~Sensors();
  Sensors(const Sensors&) = delete;
  Sensors& operator=(const Sensors&) = delete;

  // The CPU first; a device of which nothing is known has empty points.
  [[nodiscard]] std::vector<std::pair<std::string, TracePoint>> read(double seconds);

 private:
  [[nodiscard]] TracePoint read_cpu(double seconds);
  [[nodiscard]] std::optional<double> cpu_clock_mhz() const;
  [[nodiscard]] std::optional<double> cpu_celsius() const;
  [[nodiscard]] std::optional<double> cpu_watts(double seconds);

  HostSources sources_;
  std::optional<NvmlApi> nvml_;
  std::vector<std::pair<std::string, NvmlDevice>> gpus_;
  std::optional<std::pair<double, double>> energy_;  // seconds, joules
};

}  // namespace pbprobe
