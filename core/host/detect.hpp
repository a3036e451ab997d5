// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Parts of detection, for core/host and its tests only. Other code calls detect_host.
#pragma once

#include <cstdint>
#include <vector>

#include "core/host/host.hpp"

namespace pbprobe::host {

// Fills vendor, name, features, core classes and SVE length. Requires the counts in `cpu`.
void detect_x86(const HostSources& sources, Cpu& cpu);
void detect_aarch64(const HostSources& sources, const std::vector<int64_t>& online, Cpu& cpu);

// Returns the numbers of the online CPUs; empty if /sys/devices/system/cpu/online is not readable.
[[nodiscard]] std::vector<int64_t> online_cpus(const HostSources& sources);

// Returns the lowest CPU quota of this process's cgroups (v2 or v1) in whole CPUs, at least 1; nullopt without a quota.
// Rounds down: a thread beyond the quota would be throttled during a measurement.
[[nodiscard]] std::optional<int64_t> quota_cpus(const HostSources& sources);

// Returns the CPUs of `online` that this process may use (Cpus_allowed_list in /proc/self/status); all of them if the
// list is missing.
[[nodiscard]] std::vector<int64_t> allowed_cpus(const HostSources& sources, const std::vector<int64_t>& online);

// Counts the distinct cores of these CPUs; hyperthreads share a core. Returns nullopt if the kernel does not report the
// siblings of every CPU.
[[nodiscard]] std::optional<int64_t> physical_cores(const HostSources& sources, const std::vector<int64_t>& online);

// Returns the total size of all last-level caches, in bytes.
[[nodiscard]] std::optional<int64_t> last_level_cache(const HostSources& sources, const std::vector<int64_t>& online);

struct GpuFacts {
  Driver driver;
  std::vector<Gpu> gpus;
};
// Asks the driver and NVML. A missing or broken driver is a state in `driver`, not an error.
[[nodiscard]] GpuFacts detect_gpus(const HostSources& sources);

}  // namespace pbprobe::host
