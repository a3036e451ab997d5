// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

namespace pbprobe {

inline constexpr int kMaxInterruptions = 10'000;
inline constexpr int kMaxWaitInterruptions = 1'000'000;  // a profiler may send a thousand signals per second

// Repeats `call` up to `most` times while it fails with EINTR. Returns the last result.
template <class Call>
auto retry_on_eintr(Call&& call, int most = kMaxInterruptions) {
  auto result = call();
  for (int again = 0; result < 0 && errno == EINTR && again < most; ++again) result = call();
  return result;
}

}  // namespace pbprobe
