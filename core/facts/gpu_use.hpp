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
  FIELD(int64_t, pid, "the process") = 0;
  FIELD(std::optional<std::string>, name, "process name; null if not reported");
  FIELD(std::optional<int64_t>, memory_bytes, "memory that it holds; null if not reported");
};

// Use at one time at which pbprobe runs nothing on the GPU.
struct GpuUse {
  FIELD(std::string, device, "cuda:0");
  FIELD(std::string, when, "before or after the measurement");
  FIELD(std::optional<int64_t>, free_bytes, "free memory of the GPU");
  FIELD(std::optional<int64_t>, total_bytes, "total memory of the GPU");
  FIELD(std::optional<int64_t>, utilization_percent, "share of the last second (approximately)");
  FIELD(std::vector<GpuProcess>, processes, "processes with a context on this GPU");
};

}  // namespace pbprobe
