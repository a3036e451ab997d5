// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/kernels/throughput.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/dtype.hpp"
#include "core/host/sensors.hpp"

namespace pbprobe::test {
namespace {

constexpr double kEnough = 0.85;
constexpr double kEnoughMemory = 0.75;  // no bus is used whole (docs/decisions/0014)
constexpr double kLeastClock = 0.5;
constexpr double kGiB = 1024.0 * 1024 * 1024;

constexpr uint64_t kPowerBits = 0x84;    // software power cap, power brake
constexpr uint64_t kThermalBits = 0x60;  // software, hardware

template <class Value, class Function, class... Args>
std::optional<int64_t> ask(Function function, NvmlDevice device, Args... args) {
  Value value = 0;
  if (function == nullptr || function(device, args..., &value) != kNvmlSuccess) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::string or_not_reported(std::optional<int64_t> value) {
  return value ? std::to_string(*value) : "not reported";
}

// Returns the rate of the class of the loop's own instruction, else the least rate of all classes. Returns nullopt if
// the rate is unknown or second-hand.
std::optional<int64_t> expected_rate(const Target& target, const Peak& peak) {
  std::optional<int64_t> least;
  for (const OpsPerClock& ops : target.ops_per_clock) {
    const auto rate = rate_of(ops, peak.dtype);
    if (std::find(ops.leads.begin(), ops.leads.end(), name_of(peak.dtype)) != ops.leads.end()) return std::nullopt;
    if (rate && peak.instruction.starts_with(ops.chip_class)) return rate;
    if (rate) least = std::min(rate.value(), least.value_or(*rate));
  }
  return least;
}

std::string explain_throttling(const GpuReading& reading) {
  const uint64_t reasons = reading.throttle_reasons.value_or(0);
  if ((reasons & kPowerBits) != 0) return "it is power-capped";
  if ((reasons & kThermalBits) != 0) return "it is too hot";
  if ((reasons & ~uint64_t{1}) != 0) return "its clocks are held down";
  return "NVML names no reason";
}

}  // namespace

GpuReading read_gpu(const NvmlApi& nvml, NvmlDevice device) {
  GpuReading reading;
  reading.sm_mhz = ask<unsigned>(nvml.nvmlDeviceGetClockInfo, device, static_cast<int>(kNvmlClockSm));
  reading.max_sm_mhz = ask<unsigned>(nvml.nvmlDeviceGetMaxClockInfo, device, static_cast<int>(kNvmlClockSm));
  reading.memory_mhz = ask<unsigned>(nvml.nvmlDeviceGetClockInfo, device, static_cast<int>(kNvmlClockMemory));
  const auto in_watts = [](std::optional<int64_t> milliwatts) {
    return milliwatts ? std::optional(*milliwatts / 1000) : std::nullopt;
  };
  reading.watts = in_watts(ask<unsigned>(nvml.nvmlDeviceGetPowerUsage, device));
  reading.limit_watts = in_watts(ask<unsigned>(nvml.nvmlDeviceGetEnforcedPowerLimit, device));
  if (const auto bits = ask<unsigned long long>(nvml.nvmlDeviceGetCurrentClocksThrottleReasons, device))
    reading.throttle_reasons = static_cast<uint64_t>(*bits);
  return reading;
}

std::string describe(const GpuReading& reading) {
  const std::vector<std::string> reasons = name_clock_limits(reading.throttle_reasons.value_or(0));
  const std::string named = !reading.throttle_reasons ? "not reported"
                            : reasons.empty()         ? "none"
                                                      : fmt::format("{}", fmt::join(reasons, ", "));
  return fmt::format("SM clock {} of {} MHz, memory clock {} MHz, power {} of {} W, throttle reasons: {}",
                     or_not_reported(reading.sm_mhz), or_not_reported(reading.max_sm_mhz),
                     or_not_reported(reading.memory_mhz), or_not_reported(reading.watts),
                     or_not_reported(reading.limit_watts), named);
}

Throughput judge_throughput(const Target& target, const Peak& peak, double operations_per_second, double clock_ghz,
                            int64_t sms, const GpuReading& reading) {
  Throughput seen;
  const double per_clock = operations_per_second / (clock_ghz * 1e9 * static_cast<double>(sms));
  seen.what = fmt::format("{}: {:.4g} Gop/s, {:.4g} operations per clock and SM at {:.0f} MHz", peak.name,
                          operations_per_second * 1e-9, per_clock, clock_ghz * 1e3);
  if (const auto rate = expected_rate(target, peak)) {
    const double part = per_clock / static_cast<double>(*rate);
    seen.what += fmt::format(", {:.0f} % of the {} of {}", part * 100, *rate, target.id);
    seen.slow = part < kEnough;
  }
  if (reading.max_sm_mhz) {
    const double part = clock_ghz * 1e3 / static_cast<double>(*reading.max_sm_mhz);
    if (part < kEnough)
      seen.what +=
          fmt::format("; it runs at {:.0f} % of its highest clock: {}", part * 100, explain_throttling(reading));
    seen.slow |= part < kLeastClock;
  }
  seen.what += "; " + describe(reading);
  return seen;
}

Throughput judge_bandwidth(double gigabytes_per_second, std::optional<int64_t> bus_bits,
                           std::optional<int64_t> memory_mhz, const GpuReading& reading) {
  Throughput seen;
  seen.what = fmt::format("{:.0f} GB/s were read", gigabytes_per_second);
  if (bus_bits && memory_mhz) {
    const double whole = 2e-3 * static_cast<double>(*memory_mhz) * static_cast<double>(*bus_bits) / 8;
    seen.what += fmt::format(", {:.0f} % of {:.0f} GB/s: {} bits at {} MHz, twice a clock",
                             gigabytes_per_second / whole * 100, whole, *bus_bits, *memory_mhz);
    seen.slow = gigabytes_per_second < kEnoughMemory * whole;
  } else {
    seen.what += "; the driver reports no bus width or no memory clock to hold it against";
  }
  seen.what += "; " + describe(reading);
  return seen;
}

std::string room_lacking(int64_t bytes, int64_t free_bytes, bool unified, std::optional<int64_t> available_bytes) {
  constexpr int64_t kSpared = int64_t{2} << 30;  // bytes of the machine's memory left for other processes
  const auto gib = [](int64_t count) { return static_cast<double>(count) / kGiB; };
  if (bytes > free_bytes)
    return fmt::format("it takes {:.1f} GiB, and {:.1f} GiB of this GPU's memory are free", gib(bytes),
                       gib(free_bytes));
  if (unified && (!available_bytes || bytes + kSpared > *available_bytes))
    return fmt::format("it takes {:.1f} GiB of unified memory, and of the machine's {} are available", gib(bytes),
                       available_bytes ? fmt::format("{:.1f} GiB", gib(*available_bytes)) : "not known how many");
  return {};
}

}  // namespace pbprobe::test
