// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// How fast a device is, held against its own clocks, and how much of its memory a case may take.
#pragma once

#include <string>

#include "tests/kernels/backend.hpp"

namespace pbprobe::test {

// Fails where the best of several runs is slow for this target's own silicon; prints the figures either way.
void peak_is_fast(const Peak& peak, Backend& backend);
// The same of the device's memory, read by the target's kernels.
void memory_is_fast(const Target& target, Backend& backend);

// Why a case shall not allocate so many bytes on the backend's GPU now; empty: there is room.
[[nodiscard]] std::string room_lacking_on(const Backend& backend, int64_t bytes);

}  // namespace pbprobe::test
