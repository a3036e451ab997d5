// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// How often this process did what costs an audit most. A test holds it to once for each file.
#pragma once

#include <atomic>
#include <cstdint>

namespace pbprobe {

struct ReadCounts {
  std::atomic<int64_t> inflated = 0;  // members of wheels, whole or in part
};

[[nodiscard]] inline ReadCounts& read_counts() {
  static ReadCounts counts;
  return counts;
}

}  // namespace pbprobe
