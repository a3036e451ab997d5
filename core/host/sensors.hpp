// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Samples of clock, power and temperature of this machine's CPU and GPUs. Creates no CUDA context.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/driver/driver_api.hpp"
#include "core/facts/trace.hpp"
#include "core/host/host.hpp"

namespace pbprobe {

// Returns the NVML handle of the GPU with this CUDA index; nullopt if CUDA or NVML does not know it.
[[nodiscard]] std::optional<NvmlDevice> nvml_device(const DriverApi& driver, const NvmlApi& nvml, int index);

// Returns the causes of a lower clock in the bits of nvmlDeviceGetCurrentClocksThrottleReasons: "power cap".
[[nodiscard]] std::vector<std::string> name_clock_limits(uint64_t bits);

// Sensors of clock, power and temperature. `gpus`: also read the GPUs, through NVML.
class Sensors {
 public:
  explicit Sensors(HostSources sources, bool gpus);
  ~Sensors();
  Sensors(const Sensors&) = delete;
  Sensors& operator=(const Sensors&) = delete;

  // Reads all sensors. The CPU comes first; a device without readable sensors has empty points.
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
