// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Compares a GPU's speed with its own clocks. Pure functions of readings, so that tests can plant any GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/driver/driver_api.hpp"
#include "core/targets.hpp"
#include "kernels/gemm/table.hpp"

namespace pbprobe::test {

// Readings of NVML during a measurement; unset if NVML does not report a value.
struct GpuReading {
  std::optional<int64_t> sm_mhz;
  std::optional<int64_t> max_sm_mhz;
  std::optional<int64_t> memory_mhz;
  std::optional<int64_t> watts;
  std::optional<int64_t> limit_watts;
  std::optional<uint64_t> throttle_reasons;  // NVML's bits
};

[[nodiscard]] GpuReading read_gpu(const NvmlApi& nvml, NvmlDevice device);
// Clocks, power cap and throttle reasons in one line.
[[nodiscard]] std::string describe(const GpuReading& reading);

struct Throughput {
  bool slow = false;
  std::string what;  // the figures; and why it is slow, or what holds it back all the same
};

// Slow: below 85 % of the target's operations per clock × clock × SMs, or at less than half of its highest SM clock.
// Rates that the target's row lacks, or has second-hand, refute nothing.
[[nodiscard]] Throughput judge_throughput(const Target& target, const Peak& peak, double operations_per_second,
                                          double clock_ghz, int64_t sms, const GpuReading& reading);
// Slow: below 75 % of two transfers a clock over the whole bus.
[[nodiscard]] Throughput judge_bandwidth(double gigabytes_per_second, std::optional<int64_t> bus_bits,
                                         std::optional<int64_t> memory_mhz, const GpuReading& reading);

// Returns why `bytes` must not be allocated; "" if there is room. `available_bytes`: memory of the machine, from which
// a GPU with unified memory takes its own.
[[nodiscard]] std::string room_lacking(int64_t bytes, int64_t free_bytes, bool unified,
                                       std::optional<int64_t> available_bytes);

}  // namespace pbprobe::test
