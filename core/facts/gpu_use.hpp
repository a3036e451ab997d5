// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Who used a GPU besides pbprobe, as NVML has it. Unknown is null.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

struct GpuProcess {
  int64_t pid = 0;
  std::optional<std::string> name;  // null: it is not ours to read, as of another container
  std::optional<int64_t> memory_bytes;
};

// At one moment when nothing of pbprobe's ran there.
struct GpuUse {
  std::string device;  // "cuda:0"
  std::string when;    // "before" or "after" the measuring
  std::optional<int64_t> free_bytes;
  std::optional<int64_t> total_bytes;
  std::optional<int64_t> utilization_percent;  // of the time, in the last second or so
  std::vector<GpuProcess> processes;           // that hold a context there
};

template <class Visitor, SameAs<GpuProcess> T>
void fields(Visitor& visit, T& process) {
  visit("pid", process.pid, "the process");
  visit("name", process.name, "null: not reported");
  visit("memory_bytes", process.memory_bytes, "null: not reported");
}

template <class Visitor, SameAs<GpuUse> T>
void fields(Visitor& visit, T& use) {
  visit("device", use.device, "cuda:0");
  visit("when", use.when, "before or after the measuring");
  visit("free_bytes", use.free_bytes, "of the GPU's memory");
  visit("total_bytes", use.total_bytes, "of the GPU's memory");
  visit("utilization_percent", use.utilization_percent, "of the time, in the last second or so");
  visit("processes", use.processes, "that hold a context there");
}

}  // namespace pbprobe
