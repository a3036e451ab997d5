// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/host/sensors.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/host/files.hpp"

namespace pbprobe {
namespace {

constexpr int kMostCores = 8;  // enough to see throttling; each read is a system call
constexpr int kMostSensors = 64;
constexpr int kNvmlTemperatureOfGpu = 0;

std::optional<double> read_number(const std::string& root, const std::string& path) {
  const auto line = host::read_line(root, path);
  const auto number = line ? host::parse_number(*line) : std::nullopt;
  return number ? std::optional(static_cast<double>(*number)) : std::nullopt;
}

bool is_cpu_sensor(std::string_view sensor) {
  constexpr std::string_view kNames[] = {"x86_pkg_temp", "coretemp", "k10temp", "cpu-thermal", "cpu_thermal"};
  return std::find(std::begin(kNames), std::end(kNames), sensor) != std::end(kNames);
}

template <class Function>
std::optional<double> asked(Function function, NvmlDevice device, double scale) {
  unsigned value = 0;
  if (function == nullptr || function(device, &value) != kNvmlSuccess) return std::nullopt;
  return value * scale;
}

TracePoint read_gpu(const NvmlApi& nvml, NvmlDevice device, double seconds) {
  TracePoint point{.seconds = seconds};
  unsigned value = 0;
  if (nvml.nvmlDeviceGetClockInfo != nullptr &&
      nvml.nvmlDeviceGetClockInfo(device, kNvmlClockSm, &value) == kNvmlSuccess)
    point.clock_mhz = value;
  point.power_watts = asked(nvml.nvmlDeviceGetPowerUsage, device, 1e-3);
  if (nvml.nvmlDeviceGetTemperature != nullptr &&
      nvml.nvmlDeviceGetTemperature(device, kNvmlTemperatureOfGpu, &value) == kNvmlSuccess)
    point.celsius = value;
  unsigned long long bits = 0;
  if (nvml.nvmlDeviceGetCurrentClocksThrottleReasons != nullptr &&
      nvml.nvmlDeviceGetCurrentClocksThrottleReasons(device, &bits) == kNvmlSuccess)
    point.limits = name_clock_limits(bits);
  return point;
}

}  // namespace

std::vector<std::string> name_clock_limits(uint64_t bits) {
  constexpr std::pair<uint64_t, const char*> kReasons[] = {{0x02, "applications' clocks are set"},
                                                           {0x04, "power cap"},
                                                           {0x08, "hardware slowdown"},
                                                           {0x10, "sync boost"},
                                                           {0x20, "thermal slowdown"},
                                                           {0x40, "thermal slowdown by hardware"},
                                                           {0x80, "power brake"},
                                                           {0x100, "the display's clock"}};
  std::vector<std::string> names;
  for (const auto& [bit, name] : kReasons) {
    if ((bits & bit) != 0) names.emplace_back(name);
  }
  return names;
}

Sensors::Sensors(HostSources sources, bool gpus) : sources_(std::move(sources)) {
  if (!gpus || !sources_.driver || !sources_.nvml) return;
  const auto driver = sources_.driver();
  const auto nvml = sources_.nvml();
  int count = 0;
  if (!driver.ok() || !nvml.ok() || driver->cuInit(0) != kCudaSuccess ||
      driver->cuDeviceGetCount(&count) != kCudaSuccess || nvml->nvmlInit() != kNvmlSuccess)
    return;
  nvml_ = *nvml;
  for (int index = 0; index < count; ++index) {
    if (const auto device = nvml_device(*driver, *nvml_, index))
      gpus_.emplace_back(fmt::format("cuda:{}", index), *device);
  }
}

Sensors::~Sensors() {
  if (nvml_) nvml_->nvmlShutdown();
}

std::vector<std::pair<std::string, TracePoint>> Sensors::read(double seconds) {
  std::vector<std::pair<std::string, TracePoint>> points{{"cpu", read_cpu(seconds)}};
  for (const auto& [name, device] : gpus_) points.emplace_back(name, read_gpu(*nvml_, device, seconds));
  return points;
}

TracePoint Sensors::read_cpu(double seconds) {
  return {
      .seconds = seconds, .clock_mhz = cpu_clock_mhz(), .power_watts = cpu_watts(seconds), .celsius = cpu_celsius()};
}

std::optional<double> Sensors::cpu_clock_mhz() const {
  std::optional<double> fastest;
  for (int core = 0; core < kMostCores; ++core) {
    const auto khz =
        read_number(sources_.root, fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", core));
    if (khz) fastest = std::max(fastest.value_or(0), *khz * 1e-3);
  }
  return fastest;
}

std::optional<double> Sensors::cpu_celsius() const {
  for (int zone = 0; zone < kMostSensors; ++zone) {
    const std::string folder = fmt::format("/sys/class/thermal/thermal_zone{}", zone);
    const auto type = host::read_line(sources_.root, folder + "/type");
    if (!type) break;
    const auto milli = is_cpu_sensor(*type) ? read_number(sources_.root, folder + "/temp") : std::nullopt;
    if (milli) return *milli * 1e-3;
  }
  for (int chip = 0; chip < kMostSensors; ++chip) {
    const std::string folder = fmt::format("/sys/class/hwmon/hwmon{}", chip);
    const auto name = host::read_line(sources_.root, folder + "/name");
    if (!name) break;
    const auto milli = is_cpu_sensor(*name) ? read_number(sources_.root, folder + "/temp1_input") : std::nullopt;
    if (milli) return *milli * 1e-3;
  }
  return std::nullopt;
}

// The counter of each package is readable for root only on most systems, and starts again at its end.
std::optional<double> Sensors::cpu_watts(double seconds) {
  double joules = 0;
  int packages = 0;
  for (; packages < kMostSensors; ++packages) {
    const auto micro = read_number(sources_.root, fmt::format("/sys/class/powercap/intel-rapl:{}/energy_uj", packages));
    if (!micro) break;
    joules += *micro * 1e-6;
  }
  if (packages == 0) return std::nullopt;
  const auto before = std::exchange(energy_, std::pair(seconds, joules));
  if (!before || seconds <= before->first || joules < before->second) return std::nullopt;
  return (joules - before->second) / (seconds - before->first);
}

}  // namespace pbprobe
