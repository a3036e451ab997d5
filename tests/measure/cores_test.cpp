// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/kernels/cores.hpp"

#include <mutex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "core/host/host.hpp"
#include "kernels/gemm/table.hpp"

namespace pbprobe {
namespace {

TEST(EveryCore, IsAskedByAThreadThatIsBoundToIt) {
  const auto cpus = allowed_cpus();
  ASSERT_FALSE(cpus.empty());
  for (const int64_t threads : {1, 3}) {
    std::mutex mutex;
    std::multiset<int64_t> asked;
    const auto results = check_each_core(cpus, threads, [&]() -> std::string {
      const std::lock_guard lock(mutex);
      asked.insert(sched_getcpu());
      return {};
    });
    EXPECT_EQ(asked, std::multiset<int64_t>(cpus.begin(), cpus.end()));
    ASSERT_EQ(results.size(), cpus.size());
    for (size_t i = 0; i < cpus.size(); ++i) EXPECT_EQ(results[i].cpu, cpus[i]);
  }
  EXPECT_EQ(allowed_cpus(), cpus) << "the caller's affinity has changed";
}

// A planted core that is wrong is named, and no other.
TEST(EveryCore, NamesWrongCore) {
  const auto cpus = allowed_cpus();
  ASSERT_FALSE(cpus.empty());
  const int64_t bad = cpus.back();
  const auto results = check_each_core(cpus, 2, [&]() -> std::string { return sched_getcpu() == bad ? "wrong" : ""; });
  for (const auto& result : results) EXPECT_EQ(result.wrong, result.cpu == bad ? "wrong" : "") << result.cpu;
}

TEST(EveryCore, SkipsMissingCpu) {
  const auto results = check_each_core({1 << 14}, 1, []() -> std::string { return "asked"; });
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].wrong, "");
  EXPECT_NE(results[0].skipped, "");
}

TEST(EveryCore, KernelsOfThisHostAreRightHere) {
  const auto host = detect_host(system_sources());
  ASSERT_TRUE(host.ok()) << host.error().message;
  EXPECT_EQ(check_kernels_here(*host), "");
}

TEST(EveryCore, ReturnsCorrectCoresFromChild) {
  const auto host = detect_host(system_sources());
  ASSERT_TRUE(host.ok()) << host.error().message;
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  EventWriter events(pipe_ends[1]);
  check_every_core(*host, events);
  close(pipe_ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = read(pipe_ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(count));
  }
  close(pipe_ends[0]);
  const auto log = read_events(text);
  EXPECT_THAT(log.measurements.problems, testing::IsEmpty());
  EXPECT_EQ(log.measurements.exact_cpus, allowed_cpus());
}

}  // namespace
}  // namespace pbprobe
