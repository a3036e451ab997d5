// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "core/host/files.hpp"
#include "core/host/host.hpp"
#include "core/host/sensors.hpp"
#include "core/strings.hpp"

namespace pbprobe {
namespace {

constexpr unsigned kMostProcesses = 1024;

// NVML reads a name only where /proc shows that process: then /proc does as well.
std::optional<std::string> name_of_process(const HostSources& sources, const NvmlApi& nvml, unsigned pid) {
  std::array<char, 256> name{};
  if (nvml.nvmlSystemGetProcessName != nullptr &&
      nvml.nvmlSystemGetProcessName(pid, name.data(), name.size() - 1) == kNvmlSuccess && name[0] != '\0')
    return std::string(base_name(name.data()));
  return host::read_line(sources.root, fmt::format("/proc/{}/comm", pid));
}

std::vector<GpuProcess> read_processes(const HostSources& sources, const NvmlApi& nvml, NvmlDevice device) {
  const auto list = nvml.nvmlDeviceGetComputeRunningProcesses != nullptr ? nvml.nvmlDeviceGetComputeRunningProcesses
                                                                         : nvml.nvmlDeviceGetComputeRunningProcesses2;
  if (list == nullptr) return {};
  std::vector<NvmlProcess> found(64);
  auto count = static_cast<unsigned>(found.size());
  NvmlReturn answer = list(device, &count, found.data());
  while (answer == kNvmlInsufficientSize && found.size() < kMostProcesses) {
    found.resize(found.size() * 2);
    count = static_cast<unsigned>(found.size());
    answer = list(device, &count, found.data());
  }
  if (answer != kNvmlSuccess) return {};
  found.resize(std::min<size_t>(count, found.size()));
  std::vector<GpuProcess> processes;
  for (const NvmlProcess& one : found) {
    GpuProcess process{.pid = one.pid, .name = name_of_process(sources, nvml, one.pid)};
    if (one.memory != ~0ULL) process.memory_bytes = static_cast<int64_t>(one.memory);
    processes.push_back(std::move(process));
  }
  return processes;
}

GpuUse read_use(const HostSources& sources, const NvmlApi& nvml, NvmlDevice device) {
  GpuUse use;
  NvmlMemory memory;
  if (nvml.nvmlDeviceGetMemoryInfo != nullptr && nvml.nvmlDeviceGetMemoryInfo(device, &memory) == kNvmlSuccess &&
      memory.total > 0) {
    use.free_bytes = static_cast<int64_t>(memory.free);
    use.total_bytes = static_cast<int64_t>(memory.total);
  }
  NvmlUtilization utilization;
  if (nvml.nvmlDeviceGetUtilizationRates != nullptr &&
      nvml.nvmlDeviceGetUtilizationRates(device, &utilization) == kNvmlSuccess)
    use.utilization_percent = utilization.gpu;
  use.processes = read_processes(sources, nvml, device);
  return use;
}

}  // namespace

std::optional<NvmlDevice> nvml_device(const DriverApi& driver, const NvmlApi& nvml, int index) {
  std::array<char, 64> bus{};
  CuDevice device = 0;
  NvmlDevice found = nullptr;
  if (nvml.nvmlDeviceGetHandleByPciBusId == nullptr || driver.cuDeviceGet(&device, index) != kCudaSuccess ||
      driver.cuDeviceGetPCIBusId(bus.data(), bus.size() - 1, device) != kCudaSuccess ||
      nvml.nvmlDeviceGetHandleByPciBusId(bus.data(), &found) != kNvmlSuccess)
    return std::nullopt;
  return found;
}

std::optional<std::vector<GpuUse>> read_gpu_use(const HostSources& sources, const std::string& when) {
  if (!sources.driver || !sources.nvml) return std::nullopt;
  const auto driver = sources.driver();
  if (!driver.ok() || driver->cuInit(0) != kCudaSuccess) return std::nullopt;
  int count = 0;
  const auto nvml = sources.nvml();
  if (!nvml.ok() || driver->cuDeviceGetCount(&count) != kCudaSuccess || count == 0 || nvml->nvmlInit() != kNvmlSuccess)
    return std::nullopt;
  std::vector<GpuUse> uses;
  for (int index = 0; index < count; ++index) {
    const auto device = nvml_device(*driver, *nvml, index);
    if (!device) continue;
    GpuUse use = read_use(sources, *nvml, *device);
    use.device = fmt::format("cuda:{}", index);
    use.when = when;
    uses.push_back(std::move(use));
  }
  nvml->nvmlShutdown();
  return uses;
}

}  // namespace pbprobe
