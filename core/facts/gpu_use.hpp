// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Use of a GPU by other processes, reported by NVML. Unknown values are null.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

struct GpuProcess {
  int64_t pid = 0;
  std::optional<std::string> name;  // process name; null if not readable, as for another container
  std::optional<int64_t> memory_bytes;
};

// Use at one time at which pbprobe runs nothing on the GPU.
struct GpuUse {
  std::string device;  // "cuda:0"
  std::string when;    // "before" or "after" the measuring
  std::optional<int64_t> free_bytes;
  std::optional<int64_t> total_bytes;
  std::optional<int64_t> utilization_percent;  // share of the last second (approximately)
  std::vector<GpuProcess> processes;           // processes with a context on this GPU
};

void fields(auto& visit, SameAs<GpuProcess> auto& process) {
  visit("pid", process.pid, "the process");
  visit("name", process.name, "process name; null if not reported");
  visit("memory_bytes", process.memory_bytes, "memory that it holds; null if not reported");
}

void fields(auto& visit, SameAs<GpuUse> auto& use) {
  visit("device", use.device, "cuda:0");
  visit("when", use.when, "before or after the measurement");
  visit("free_bytes", use.free_bytes, "free memory of the GPU");
  visit("total_bytes", use.total_bytes, "total memory of the GPU");
  visit("utilization_percent", use.utilization_percent, "share of the last second (approximately)");
  visit("processes", use.processes, "processes with a context on this GPU");
}

}  // namespace pbprobe
