// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Detection: what this machine has, from sources that are given, so that any recorded host is detected anywhere.
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

// Functions are called only for the architecture they belong to, and only where their answer counts.
struct HostSources {
  std::string architecture;  // "x86_64" or "aarch64"
  std::string root;          // put before /proc, /sys, /etc and /usr; empty on a real machine
  std::optional<std::string> hostname;
  std::string kernel;
  std::optional<std::string> glibc;

  std::function<CpuidRegisters(uint32_t leaf, uint32_t subleaf)> cpuid;
  std::function<uint64_t()> xcr0;                        // called only where CPUID says OSXSAVE
  std::function<bool()> amx_permission;                  // asks the kernel for tile data
  std::function<std::vector<uint32_t>()> hybrid_leaves;  // EAX of CPUID 1AH on each CPU this process may use

  uint64_t hwcap = 0;
  uint64_t hwcap2 = 0;
  std::function<std::optional<int64_t>()> sve_bytes;

  std::optional<int64_t> affinity_cpus;             // CPUs that the scheduler may give this process
  std::optional<std::string> cuda_visible_devices;  // null: not set
  std::function<Result<DriverApi>()> driver;
  std::function<Result<NvmlApi>()> nvml;
};

// This machine. Reading it runs CPUID, getauxval and the like, but loads no driver: detect_host does.
[[nodiscard]] HostSources system_sources();

// The tightest memory limit of this process's cgroups (v2 or v1) and those above them, in bytes; null: none.
[[nodiscard]] std::optional<int64_t> memory_limit_bytes(const HostSources& sources);

// Creates no CUDA context. What cannot be read is null or empty; a GPU's trouble is a state of Host::driver.
// Error: unsupported, where the architecture is neither x86_64 nor aarch64.
[[nodiscard]] Result<Host> detect_host(const HostSources& sources);

// What others hold of each GPU now, as NVML has it. Null: there is no driver, no NVML or no GPU. Creates no context.
[[nodiscard]] std::optional<std::vector<GpuUse>> look_at_gpu_use(const HostSources& sources, const std::string& when);

}  // namespace pbprobe
