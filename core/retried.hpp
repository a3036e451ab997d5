// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

namespace pbprobe {

inline constexpr int kMostInterruptions = 10'000;
inline constexpr int kMostInterruptionsOfAWait = 1'000'000;  // a profiler's signals come a thousand times a second

// A system call, made again where a signal interrupted it. Where all are, its EINTR is the answer.
template <class Call>
auto retried(Call&& call, int most = kMostInterruptions) {
  auto result = call();
  for (int again = 0; result < 0 && errno == EINTR && again < most; ++again) result = call();
  return result;
}

}  // namespace pbprobe
