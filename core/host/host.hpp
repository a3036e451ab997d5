// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Detection of this machine. All sources are arguments, so that recorded hosts can be detected on any machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/driver/driver_api.hpp"
#include "core/facts/gpu_use.hpp"
#include "core/facts/host.hpp"
#include "core/result.hpp"

namespace pbprobe {

struct CpuidRegisters {
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
};

// Sources of detection. The functions are called only on the architecture that they belong to, and only if their result
// is needed.
struct HostSources {
  std::string architecture;  // "x86_64" or "aarch64"
  std::string root;          // put before /proc, /sys, /etc and /usr; empty on a real machine
  std::optional<std::string> hostname;
  std::string kernel;
  std::optional<std::string> glibc;

  std::function<CpuidRegisters(uint32_t leaf, uint32_t subleaf)> cpuid;
  std::function<uint64_t()> xcr0;                        // called only if CPUID reports OSXSAVE
  std::function<bool()> amx_permission;                  // requests permission for tile data from the kernel
  std::function<std::vector<uint32_t>()> hybrid_leaves;  // EAX of CPUID 1AH on each CPU this process may use

  uint64_t hwcap = 0;
  uint64_t hwcap2 = 0;
  std::function<std::optional<int64_t>()> sve_bytes;

  std::optional<int64_t> affinity_cpus;             // CPUs that the scheduler allows for this process
  std::optional<std::string> cuda_visible_devices;  // CUDA_VISIBLE_DEVICES; null if not set
  std::function<Result<DriverApi>()> driver;
  std::function<Result<NvmlApi>()> nvml;
};

// Returns the sources of this machine. Executes CPUID, getauxval and similar, but loads no driver: detect_host does.
[[nodiscard]] HostSources system_sources();

// Returns the lowest memory limit of this process's cgroups (v2 or v1) and their parents, in bytes; nullopt without a
// limit.
[[nodiscard]] std::optional<int64_t> memory_limit_bytes(const HostSources& sources);

// Returns the memory that this process can still take, in bytes: MemAvailable, or less if a cgroup leaves less; nullopt
// if neither is known.
[[nodiscard]] std::optional<int64_t> available_memory_bytes(const HostSources& sources);

// Returns how much of the available memory one allocation on a GPU with unified memory may take: an allocation that
// does not fit hangs such a machine instead of failing (pytorch#174358).
[[nodiscard]] constexpr int64_t get_unified_share(int64_t available) {
  return available / 2;
}

// Checks an allocation on a GPU with unified memory. Error: limit, above its share of `available`.
[[nodiscard]] Result<void> check_unified_room(size_t bytes, std::optional<int64_t> available);

// Detects the host. Creates no CUDA context. Unreadable facts are null or empty; faults of a GPU are reported in
// Host::driver. Error: unsupported, if the architecture is neither x86_64 nor aarch64.
[[nodiscard]] Result<Host> detect_host(const HostSources& sources);

// Reads the current GPU use of other processes from NVML. Returns nullopt without a driver, NVML or GPU. Creates no
// context.
[[nodiscard]] std::optional<std::vector<GpuUse>> read_gpu_use(const HostSources& sources, const std::string& when);

}  // namespace pbprobe
