// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/kernels/cpu_wait.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

TEST(CpuWait, DescribesWaitOfMoreThanTenPercent) {
  const CpuTime before{.ran_seconds = 2, .waited_seconds = 1};
  const auto after = [&](double ran, double waited) {
    return describe_cpu_wait(before, {.ran_seconds = 2 + ran, .waited_seconds = 1 + waited});
  };
  EXPECT_EQ(after(1, 1), "the threads waited 50 % of the time for a CPU");
  EXPECT_EQ(after(0.88, 0.12), "the threads waited 12 % of the time for a CPU");
  EXPECT_EQ(after(0.92, 0.08), std::nullopt);
  EXPECT_EQ(after(1, 0), std::nullopt);
  EXPECT_EQ(after(0, 0), std::nullopt) << "nothing ran";
  EXPECT_EQ(after(-1, 0.5), std::nullopt) << "a thread ended between the reads";
}

TEST(CpuWait, ReadsTimeOfThisProcess) {
  using Clock = std::chrono::steady_clock;
  const CpuTime before = read_cpu_time();
  const auto start = Clock::now();
  while (Clock::now() < start + std::chrono::milliseconds(50)) {
  }
  const CpuTime after = read_cpu_time();
  const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  const double ran = after.ran_seconds - before.ran_seconds, waited = after.waited_seconds - before.waited_seconds;
  EXPECT_GT(ran, 0);
  EXPECT_NEAR(ran + waited, elapsed, 0.02) << "the thread was runnable all the time";
}

}  // namespace
}  // namespace pbprobe
