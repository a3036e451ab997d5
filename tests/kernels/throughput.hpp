// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Whether a GPU is as fast as its own clocks say. Pure functions of what was read, so that any GPU can be planted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/driver/driver_api.hpp"
#include "core/targets.hpp"
#include "kernels/gemm/table.hpp"

namespace pbprobe::test {

// What NVML reported while it was measured; null where it does not report it.
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

// Why so many bytes shall not be allocated; empty: there is room. `available`: the machine's, whose memory a GPU with
// unified memory takes.
[[nodiscard]] std::string room_lacking(int64_t bytes, int64_t free_bytes, bool unified,
                                       std::optional<int64_t> available_bytes);

}  // namespace pbprobe::test
