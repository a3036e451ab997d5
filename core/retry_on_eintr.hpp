// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>

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

// Writes the whole text, also if signals interrupt it. On an error returns false, and errno tells the reason.
[[nodiscard]] inline bool write_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = retry_on_eintr([&] { return ::write(descriptor, text.data(), text.size()); });
    if (count <= 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace pbprobe
