// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/report/sections.hpp"

namespace pbprobe::text {
namespace {

std::string cpu_line(const Cpu& cpu) {
  std::vector<std::string> parts{cpu.name, cpu.architecture,
                                 cpu.usable_cpus == cpu.logical_cpus
                                     ? fmt::format("{} CPUs", cpu.logical_cpus)
                                     : fmt::format("{} of {} CPUs usable", cpu.usable_cpus, cpu.logical_cpus)};
  if (cpu.core_classes.size() > 1) {
    std::vector<std::string> cores;
    for (const auto& core : cpu.core_classes) cores.push_back(fmt::format("{} × {}", core.count, core.name));
    parts.push_back(fmt::format("{}", fmt::join(cores, " + ")));
  }
  if (cpu.last_level_cache_bytes) parts.push_back("cache " + bytes(*cpu.last_level_cache_bytes));
  if (cpu.sve_bits) parts.push_back(fmt::format("SVE {} bits", *cpu.sve_bits));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string gpu_line(const Gpu& gpu) {
  std::vector<std::string> parts{gpu.name, "capability " + gpu.capability};
  if (gpu.sm_count) parts.push_back(fmt::format("{} SMs", *gpu.sm_count));
  if (gpu.memory_bytes)
    parts.push_back(bytes(*gpu.memory_bytes) + (gpu.unified_memory.value_or(false) ? " unified memory" : ""));
  if (gpu.max_sm_clock_mhz) parts.push_back(fmt::format("{} MHz", *gpu.max_sm_clock_mhz));
  if (gpu.power_limit_watts) parts.push_back(fmt::format("{} W", *gpu.power_limit_watts));
  if (gpu.ecc) parts.push_back(*gpu.ecc ? "ECC on" : "ECC off");
  if (gpu.mig.value_or(false)) parts.push_back("MIG on");
  if (gpu.problem) parts.push_back("cannot be used: " + *gpu.problem);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string driver_line(const Driver& driver) {
  if (driver.state == DriverState::no_driver) return "none";
  std::string line = fmt::format("{}, supports CUDA {}", driver.version.value_or("version unknown"),
                                 driver.cuda_version.value_or("(version unknown)"));
  if (driver.state == DriverState::too_old) line += "; too old for pbprobe's own kernels";
  if (driver.state == DriverState::no_gpu) line += "; it lists no GPU";
  if (driver.state == DriverState::gpu_bad) line += "; a GPU cannot be used";
  return line;
}

std::string system_line(const Host& host) {
  std::vector<std::string> parts;
  if (host.hostname) parts.push_back(*host.hostname);
  parts.push_back(host.os);
  parts.push_back("kernel " + host.kernel);
  if (host.glibc) parts.push_back("glibc " + *host.glibc);
  if (host.memory_bytes) parts.push_back(bytes(*host.memory_bytes));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string bytes(int64_t count) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(count);
  size_t unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} bytes", count) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::vector<std::pair<std::string, std::string>> describe_host(const Host& host) {
  std::vector<std::pair<std::string, std::string>> lines{
      {"system", system_line(host)},
      {"CPU", cpu_line(host.cpu)},
      {"targets",
       host.cpu.targets.empty() ? "none in the target table" : fmt::format("{}", fmt::join(host.cpu.targets, ", "))},
      {"driver", driver_line(host.driver)}};
  // Adjacent equal GPUs share a line.
  for (size_t i = 0; i < host.gpus.size();) {
    size_t next = i + 1;
    while (next < host.gpus.size() && gpu_line(host.gpus[next]) == gpu_line(host.gpus[i])) ++next;
    const int64_t first = host.gpus[i].index;
    lines.emplace_back(
        next == i + 1 ? fmt::format("GPU {}", first) : fmt::format("GPU {}-{}", first, host.gpus[next - 1].index),
        gpu_line(host.gpus[i]));
    i = next;
  }
  return lines;
}

void add_environment(Page& page, const Host& host) {
  for (const auto& [label, line] : describe_host(host)) page.entry(label, line);
}

namespace {

std::string found(const CalledCompiler& compiler) {
  return compiler.path.value_or(fmt::format("no {}", compiler.called));
}

std::string found(const CalledPtxas& ptxas) {
  const std::string version = ptxas.compiler ? " " + ptxas.compiler->version.value_or("") : "";
  return fmt::format("{}{} ({})", ptxas.name, version, ptxas.problem.value_or(ptxas.path));
}

}  // namespace

void add_preflight(Page& page, const Preflight& preflight) {
  page.entry("C++", found(preflight.cxx_compiler));
  if (preflight.c_compiler) page.entry("C", found(*preflight.c_compiler));
  if (preflight.python_header)
    page.entry("Python.h", preflight.python_header->path + (preflight.python_header->there ? "" : ": missing"));
  if (preflight.driver) page.entry("libcuda", preflight.driver->path.value_or("not found"));
  for (const auto& ptxas : preflight.ptxas) page.entry("ptxas", found(ptxas));
  for (const auto& cache : preflight.caches)
    page.entry("cache", fmt::format("{}: {}", cache.of, cache.problem.value_or(cache.path)));
}

}  // namespace pbprobe::text
