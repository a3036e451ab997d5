// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/kernels/device_speeds.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>

#include <gtest/gtest.h>

#include "core/host/host.hpp"
#include "tests/kernels/device_call.hpp"
#include "tests/kernels/throughput.hpp"

namespace pbprobe::test {
namespace {

const Gpu& get_gpu(const Backend& backend) {
  const auto& gpus = this_host().gpus;
  const auto index = backend.options().gpu;
  const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.index == index; });
  static const Gpu none;
  return found == gpus.end() ? none : *found;
}

// Reads NVML during a measurement, because an idle GPU shows other clocks. Does nothing without NVML.
class Watch {
 public:
  Watch(const DriverApi& driver, const Gpu& gpu) {
    std::array<char, 64> bus{};
    CuDevice device = 0;
    reading_.max_sm_mhz = gpu.max_sm_clock_mhz;
    if (!nvml_api().ok() || nvml_api()->nvmlDeviceGetHandleByPciBusId == nullptr ||
        driver.cuDeviceGet(&device, static_cast<int>(gpu.index)) != kCudaSuccess ||
        driver.cuDeviceGetPCIBusId(bus.data(), bus.size() - 1, device) != kCudaSuccess ||
        nvml_api()->nvmlInit() != kNvmlSuccess)
      return;
    if (nvml_api()->nvmlDeviceGetHandleByPciBusId(bus.data(), &device_) == kNvmlSuccess)
      thread_ = std::thread([this] { look(); });
    else
      nvml_api()->nvmlShutdown();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() { (void)stop(); }

  // The latest clocks, the most power, and every reason that was given.
  GpuReading stop() {
    stopped_ = true;
    if (thread_.joinable()) {
      thread_.join();
      nvml_api()->nvmlShutdown();
    }
    return reading_;
  }

 private:
  void look() {
    while (!stopped_) {
      const GpuReading now = read_gpu(*nvml_api(), device_);
      reading_.sm_mhz = std::max(now.sm_mhz, reading_.sm_mhz);
      reading_.memory_mhz = std::max(now.memory_mhz, reading_.memory_mhz);
      reading_.watts = std::max(now.watts, reading_.watts);
      reading_.limit_watts = now.limit_watts;
      if (now.max_sm_mhz) reading_.max_sm_mhz = now.max_sm_mhz;
      if (now.throttle_reasons)
        reading_.throttle_reasons = reading_.throttle_reasons.value_or(0) | *now.throttle_reasons;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  NvmlDevice device_ = nullptr;
  std::atomic<bool> stopped_ = false;
  GpuReading reading_;
  std::thread thread_;
};

void expect_fast(const Throughput& seen) {
  std::cout << seen.what << '\n';
  EXPECT_FALSE(seen.slow) << seen.what;
}

// Seconds of each of several launches that are queued, by the host's clock.
Result<double> seconds_of_reads(const Target& target, const GpuKernels& kernels, const DeviceArray& from, int64_t bytes,
                                uint32_t* sink) {
  constexpr int kLaunches = 20;
  Context context;
  context.gpu = &kernels;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kLaunches; ++i) PBPROBE_CHECK(run_read_probe(target.id, from.data(), bytes, 1, 0, sink, context));
  PBPROBE_CU(kernels.driver(), "waiting for the reads", cuCtxSynchronize());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / kLaunches;
}

std::optional<int64_t> attribute(const DriverApi& driver, const Gpu& gpu, int which) {
  CuDevice device = 0;
  int value = 0;
  if (driver.cuDeviceGet(&device, static_cast<int>(gpu.index)) != kCudaSuccess ||
      driver.cuDeviceGetAttribute(&value, which, device) != kCudaSuccess || value <= 0)
    return std::nullopt;
  return value;
}

}  // namespace

void peak_is_fast(const Peak& peak, Backend& backend) {
  const Gpu& gpu = get_gpu(backend);
  Backend::Rate best;
  Watch watch(backend.gpu_kernels()->driver(), gpu);
  // Long enough for clocks to rise and for NVML to see them.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  while (std::chrono::steady_clock::now() < end) {
    const auto rate = backend.run_peak(peak, 20000);
    ASSERT_TRUE(rate.ok()) << rate.error().message;
    if (rate->operations * best.seconds >= best.operations * rate->seconds) best = *rate;
  }
  expect_fast(judge_throughput(*find_target(peak.target), peak, best.operations / best.seconds, best.clock_ghz,
                               gpu.sm_count.value_or(1), watch.stop()));
}

void memory_is_fast(const Target& target, Backend& backend) {
  const GpuKernels& kernels = *backend.gpu_kernels();
  const DriverApi& driver = kernels.driver();
  constexpr int64_t kBytes = int64_t{512} << 20;
  if (const auto why = explain_missing_memory(backend, kBytes); !why.empty()) GTEST_SKIP() << why;
  const Guarded whole = poisoned(kBytes);
  const DeviceArray from(driver, whole);
  const DeviceArray sink(driver, poisoned(64));
  ASSERT_EQ(from.result(), kCudaSuccess);
  ASSERT_EQ(sink.result(), kCudaSuccess);
  const Gpu& gpu = get_gpu(backend);
  Watch watch(driver, gpu);
  double best = 0;
  for (int round = 0; round < 15; ++round) {
    const auto seconds = seconds_of_reads(target, kernels, from, kBytes, static_cast<uint32_t*>(sink.data()));
    ASSERT_TRUE(seconds.ok()) << seconds.error().message;
    best = std::max(best, static_cast<double>(kBytes) / *seconds * 1e-9);
  }
  expect_fast(judge_bandwidth(best, attribute(driver, gpu, kCuMemoryBusWidth), gpu.max_memory_clock_mhz, watch.stop()));
}

std::string explain_missing_memory(const Backend& backend, int64_t bytes) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  if (backend.gpu_kernels()->driver().cuMemGetInfo(&free_bytes, &total_bytes) != kCudaSuccess)
    return "the driver does not report how much memory is free";
  return room_lacking(bytes, static_cast<int64_t>(free_bytes), get_gpu(backend).unified_memory.value_or(false),
                      available_memory_bytes({}));
}

}  // namespace pbprobe::test
