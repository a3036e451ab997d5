// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The parts of detection, only for core/host and its tests. Others call detect_host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/host/host.hpp"

namespace pbprobe::host {

// Vendor, name, features and core classes; SVE length. Counts are in `cpu` already.
void detect_x86(const HostSources& sources, Cpu& cpu);
void detect_aarch64(const HostSources& sources, const std::vector<int64_t>& online, Cpu& cpu);

// Online CPUs, by number; empty where /sys/devices/system/cpu/online cannot be read.
[[nodiscard]] std::vector<int64_t> online_cpus(const HostSources& sources);

// The tightest CPU quota of this process's cgroups (v2 or v1) in whole CPUs, rounded down to at least 1; null: none.
// Rounded down, since a thread beyond the quota is throttled in the middle of what it measures.
[[nodiscard]] std::optional<int64_t> quota_cpus(const HostSources& sources);

// Those of `online` that this process may use (Cpus_allowed_list of /proc/self/status); all where it does not tell.
[[nodiscard]] std::vector<int64_t> allowed_cpus(const HostSources& sources, const std::vector<int64_t>& online);

// Distinct cores of these CPUs, of which hyperthreads share one; null where the kernel does not tell it of each.
[[nodiscard]] std::optional<int64_t> physical_cores(const HostSources& sources, const std::vector<int64_t>& online);

// All last-level caches together.
[[nodiscard]] std::optional<int64_t> last_level_cache(const HostSources& sources, const std::vector<int64_t>& online);

struct GpuFacts {
  Driver driver;
  std::vector<Gpu> gpus;
};
[[nodiscard]] GpuFacts detect_gpus(const HostSources& sources);

}  // namespace pbprobe::host
