// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Short waits between threads, for conditions that other threads make true within microseconds.
#pragma once

#include <chrono>
#include <thread>

namespace pbprobe {

// Spins until `condition()` is true, for at most 50 µs: longer than the gap between two passes of a GEMM, shorter than
// anything that is timed. Returns the condition's last value.
template <class Condition>
bool spin_until(Condition&& condition) {
  if (condition()) return true;
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
  do {
    for (int i = 0; i < 64; ++i) {
      if (condition()) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("yield");
#endif
    }
  } while (std::chrono::steady_clock::now() < until);
  return condition();
}

// Returns when `condition()` is true. Spins first, then lets other threads run.
template <class Condition>
void wait_until(Condition&& condition) {
  while (!spin_until(condition)) std::this_thread::yield();
}

}  // namespace pbprobe
