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
  std::string name;  // "Cortex-X925", "P"; the raw MIDR or CPUID signature without an exact match
  int64_t count = 0;
};

struct Cpu {
  std::string architecture;           // "x86_64", "aarch64"
  std::string vendor;                 // "GenuineIntel", "ARM"
  std::string name;                   // brand string; aarch64: the core's name on an exact match, else the raw MIDR
  std::vector<std::string> features;  // usable features, named as in /proc/cpuinfo; the OS saves their registers
  std::vector<std::string> targets;   // CPU targets whose required features this CPU has
  std::vector<CoreClass> core_classes;
  int64_t logical_cpus = 0;               // online
  int64_t usable_cpus = 0;                // after affinity and cgroup quota, at least 1
  std::optional<int64_t> physical_cores;  // cores of the usable CPUs (a core may have two CPUs); null if not reported
  std::optional<int64_t> sve_bits;        // vector length; null without SVE
  std::optional<int64_t> last_level_cache_bytes;
};

enum class DriverState {
  ok,         // loaded, and it lists at least one GPU
  no_driver,  // libcuda.so.1 cannot be loaded
  too_old,    // loaded, but older than this program's CUDA line needs
  no_gpu,     // loaded, and it lists no device
  gpu_bad,    // a device is listed but cannot be used
};

struct Driver {
  DriverState state = DriverState::no_driver;
  std::string sentence;                     // the state in one sentence, with the way out
  std::optional<std::string> version;       // "580.159.04"
  std::optional<std::string> cuda_version;  // highest CUDA that the driver supports: "13.0"
  std::optional<std::string> library;       // the libcuda that was loaded
};

struct Gpu {
  int64_t index = 0;
  std::string name;                   // "NVIDIA GB10"
  std::string capability;             // "12.1"
  std::optional<std::string> target;  // id of the GPU target with this capability: "sm121"
  std::optional<std::string> uuid;
  std::optional<int64_t> sm_count;
  std::optional<int64_t> memory_bytes;  // for unified memory, the total that the driver reports
  std::optional<bool> unified_memory;   // shares the machine's memory (GB10, Jetson)
  std::optional<int64_t> max_sm_clock_mhz;
  std::optional<int64_t> max_memory_clock_mhz;
  std::optional<int64_t> l2_cache_bytes;
  std::optional<int64_t> power_limit_watts;
  std::optional<bool> mig;
  std::optional<bool> ecc;
  std::optional<std::string> problem;  // reason why it cannot be used; null if it can
};

struct Host {
  std::optional<std::string> hostname;  // host name; null with --redact
  std::string os;                       // PRETTY_NAME of os-release, or "Linux"
  std::string kernel;                   // uname -r
  std::optional<std::string> glibc;     // "2.36"
  std::optional<int64_t> memory_bytes;
  Cpu cpu;
  Driver driver;
  std::vector<Gpu> gpus;
};

void fields(auto& visit, SameAs<CoreClass> auto& core) {
  visit("name", core.name, "core name on an exact match, else the raw MIDR or CPUID signature");
  visit("count", core.count, "cores of this kind");
}

void fields(auto& visit, SameAs<Cpu> auto& cpu) {
  visit("architecture", cpu.architecture, "x86_64 or aarch64");
  visit("vendor", cpu.vendor, "\"GenuineIntel\", \"AuthenticAMD\", \"ARM\"");
  visit("name", cpu.name, "name given by the maker");
  visit("features", cpu.features, "usable features, named as /proc/cpuinfo names them");
  visit("targets", cpu.targets, "ids of the CPU targets that this CPU can run");
  visit("core_classes", cpu.core_classes, "kinds of cores");
  visit("logical_cpus", cpu.logical_cpus, "online");
  visit("usable_cpus", cpu.usable_cpus, "after affinity and cgroup quota");
  visit("physical_cores", cpu.physical_cores, "cores of the usable CPUs; null if not reported");
  visit("sve_bits", cpu.sve_bits, "SVE vector length; null without SVE");
  visit("last_level_cache_bytes", cpu.last_level_cache_bytes, "size of the largest cache");
}

void fields(auto& visit, SameAs<Driver> auto& driver) {
  visit("state", driver.state, "state of the driver");
  visit("sentence", driver.sentence, "state and fix in one sentence");
  visit("version", driver.version, "version of the driver, \"580.65.06\"");
  visit("cuda_version", driver.cuda_version, "highest CUDA version that the driver supports");
  visit("library", driver.library, "the libcuda that was loaded");
}

void fields(auto& visit, SameAs<Gpu> auto& gpu) {
  visit("index", gpu.index, "the driver's number");
  visit("name", gpu.name, "name given by the maker");
  visit("capability", gpu.capability, "compute capability");
  visit("target", gpu.target, "id of the GPU target with this capability");
  visit("uuid", gpu.uuid, "UUID reported by the driver, \"GPU-…\"");
  visit("sm_count", gpu.sm_count, "streaming multiprocessors");
  visit("memory_bytes", gpu.memory_bytes, "RAM, or a GPU's memory");
  visit("unified_memory", gpu.unified_memory, "shares the machine's memory");
  visit("max_sm_clock_mhz", gpu.max_sm_clock_mhz, "highest SM clock");
  visit("max_memory_clock_mhz", gpu.max_memory_clock_mhz, "highest memory clock");
  visit("l2_cache_bytes", gpu.l2_cache_bytes, "L2 cache");
  visit("power_limit_watts", gpu.power_limit_watts, "the power cap that is set");
  visit("mig", gpu.mig, "MIG mode is on");
  visit("ecc", gpu.ecc, "ECC is on");
  visit("problem", gpu.problem, "reason why it cannot be used; null if it can");
}

void fields(auto& visit, SameAs<Host> auto& host) {
  visit.constant("schema", "pbprobe.host/1");
  visit("hostname", host.hostname, "host name; null if redacted");
  visit("os", host.os, "name and version in /etc/os-release");
  visit("kernel", host.kernel, "name and release of the kernel");
  visit("glibc", host.glibc, "version; null for another C library");
  visit("memory_bytes", host.memory_bytes, "RAM, or a GPU's memory");
  visit("cpu", host.cpu, "the processor");
  visit("driver", host.driver, "the CUDA driver");
  visit("gpus", host.gpus, "in the driver's order");
}

// Begins the problem of a report on a machine that is only a file here (`--host`).
inline constexpr std::string_view kRecordedMachine = "this machine is a record";

}  // namespace pbprobe
