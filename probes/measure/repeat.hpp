// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Many launches of one kernel, whose results must have the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/result.hpp"
#include "probes/measure/timing.hpp"

namespace pbprobe {

struct Launches {
  std::function<Result<void>()> launch;                              // clears C, launches the kernel and waits for it
  std::function<Result<void>(std::vector<std::byte>& result)> read;  // reads C
};

// Launches until `most` launches or `seconds` are over, and compares each result with the first. Returns the number of
// launches. Errors: malformed (a result has other bits; names the launch), or that of launch or read.
[[nodiscard]] Result<int64_t> repeat_launches(const Launches& launches, int64_t most, double seconds,
                                              const SecondsClock& clock);

}  // namespace pbprobe
