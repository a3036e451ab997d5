// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Host: properties of this machine. Unknown values are null, never 0 and never a fault.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

// Cores of one kind: Alder Lake has P and E cores, GB10 has X925 and A725.
struct CoreClass {
  FIELD(std::string, name, "core name on an exact match, else the raw MIDR or CPUID signature");  // "Cortex-X925", "P"
  FIELD(int64_t, count, "cores of this kind") = 0;
};

struct Cpu {
  FIELD(std::string, architecture, "x86_64 or aarch64");
  FIELD(std::string, vendor, "\"GenuineIntel\", \"AuthenticAMD\", \"ARM\"");
  FIELD(std::string, name, "name given by the maker");
  FIELD(std::vector<std::string>, features, "usable features, named as /proc/cpuinfo names them");
  FIELD(std::vector<std::string>, targets, "ids of the CPU targets that this CPU can run");
  FIELD(std::vector<CoreClass>, core_classes, "kinds of cores");
  FIELD(int64_t, logical_cpus, "online") = 0;
  FIELD(int64_t, usable_cpus, "after affinity and cgroup quota") = 0;  // after affinity and cgroup quota, at least 1
  FIELD(std::optional<int64_t>, physical_cores, "cores of the usable CPUs; null if not reported");
  FIELD(std::optional<int64_t>, sve_bits, "SVE vector length; null without SVE");
  FIELD(std::optional<int64_t>, last_level_cache_bytes, "size of the largest cache");
};

enum class DriverState {
  ok,         // loaded, and it lists at least one GPU
  no_driver,  // libcuda.so.1 cannot be loaded
  too_old,    // loaded, but older than this program's CUDA line needs
  no_gpu,     // loaded, and it lists no device
  gpu_bad,    // a device is listed but cannot be used
};

struct Driver {
  FIELD(DriverState, state, "state of the driver") = DriverState::no_driver;
  FIELD(std::string, sentence, "state and fix in one sentence");
  FIELD(std::optional<std::string>, version, "version of the driver, \"580.65.06\"");  // "580.159.04"
  FIELD(std::optional<std::string>, cuda_version, "highest CUDA version that the driver supports");
  FIELD(std::optional<std::string>, library, "the libcuda that was loaded");
};

struct Gpu {
  FIELD(int64_t, index, "the driver's number") = 0;
  FIELD(std::string, name, "name given by the maker");   // "NVIDIA GB10"
  FIELD(std::string, capability, "compute capability");  // "12.1"
  FIELD(std::optional<std::string>, target, "id of the GPU target with this capability");
  FIELD(std::optional<std::string>, uuid, "UUID reported by the driver, \"GPU-…\"");
  FIELD(std::optional<int64_t>, sm_count, "streaming multiprocessors");
  FIELD(std::optional<int64_t>, memory_bytes, "RAM, or a GPU's memory");
  FIELD(std::optional<bool>, unified_memory, "shares the machine's memory");
  FIELD(std::optional<int64_t>, max_sm_clock_mhz, "highest SM clock");
  FIELD(std::optional<int64_t>, max_memory_clock_mhz, "highest memory clock");
  FIELD(std::optional<int64_t>, l2_cache_bytes, "L2 cache");
  FIELD(std::optional<int64_t>, power_limit_watts, "the power cap that is set");
  FIELD(std::optional<bool>, mig, "MIG mode is on");
  FIELD(std::optional<bool>, ecc, "ECC is on");
  FIELD(std::optional<std::string>, problem, "reason why it cannot be used; null if it can");
};

struct Host {
  SCHEMA("pbprobe.host/1");
  FIELD(std::optional<std::string>, hostname, "host name; null if redacted");
  FIELD(std::string, os, "name and version in /etc/os-release");  // "Linux" without this file
  FIELD(std::string, kernel, "name and release of the kernel");
  FIELD(std::optional<std::string>, glibc, "version; null for another C library");  // "2.36"
  FIELD(std::optional<int64_t>, memory_bytes, "RAM, or a GPU's memory");
  FIELD(Cpu, cpu, "the processor");
  FIELD(Driver, driver, "the CUDA driver");
  FIELD(std::vector<Gpu>, gpus, "in the driver's order");
};

// Begins the problem of a report on a machine that is only a file here (`--host`).
inline constexpr std::string_view kRecordedMachine = "this machine is a record";

}  // namespace pbprobe
