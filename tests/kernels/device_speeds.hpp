// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Speed of a device compared with its own clocks, and the memory that a case may take.
#pragma once

#include <string>

#include "tests/kernels/backend.hpp"

namespace pbprobe::test {

// Fails where the best of several runs is slow for this target's own silicon; prints the figures either way.
void peak_is_fast(const Peak& peak, Backend& backend);
// Checks the device's memory in the same way, read by the target's kernels.
void memory_is_fast(const Target& target, Backend& backend);

// Returns why a case must not allocate `bytes` on the backend's GPU now; "" if it may.
[[nodiscard]] std::string explain_missing_memory(const Backend& backend, int64_t bytes);

}  // namespace pbprobe::test
