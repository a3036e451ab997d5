// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A page of a mapped file that is gone, since somebody cut the file short or its disk fails, raises SIGBUS in whichever
// thread reads it. While a range is watched such a page reads as zeros instead, and the range knows of it. All else
// that raises SIGBUS goes to whoever handled it before, so that a program which only uses us keeps its own way.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace pbprobe {

struct WatchedRange;  // one of a fixed number, which the signal handler goes through

// Null where too many ranges are watched already. [address, address + size) must be a mapping of whole pages.
[[nodiscard]] WatchedRange* watch_range(void* address, uint64_t size);

// Before the range is unmapped.
void unwatch_range(WatchedRange* range);

// Whether it lies in one of these ranges.
[[nodiscard]] bool is_watched(const void* address);

// Where the first page that failed lies in the range, in bytes.
[[nodiscard]] std::optional<uint64_t> first_failure(const WatchedRange& range);

}  // namespace pbprobe
