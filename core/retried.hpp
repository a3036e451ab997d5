// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

namespace pbprobe {

inline constexpr int kMostInterruptions = 10'000;
inline constexpr int kMostInterruptionsOfAWait = 1'000'000;  // a profiler may send a thousand signals per second

// Repeats `call` up to `most` times while it fails with EINTR. Returns the last result.
template <class Call>
auto retried(Call&& call, int most = kMostInterruptions) {
  auto result = call();
  for (int again = 0; result < 0 && errno == EINTR && again < most; ++again) result = call();
  return result;
}

}  // namespace pbprobe
