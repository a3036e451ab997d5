// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/kernels/thread_pool.hpp"

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

struct Tasks {
  std::vector<std::thread::id> threads;  // thread of each task
  std::vector<std::atomic<int>> runs;
  explicit Tasks(int64_t count) : threads(static_cast<size_t>(count)), runs(static_cast<size_t>(count)) {}
};

void run_task(void* state, int64_t index) {
  auto& tasks = *static_cast<Tasks*>(state);
  tasks.threads[static_cast<size_t>(index)] = std::this_thread::get_id();
  ++tasks.runs[static_cast<size_t>(index)];
}

// Asserts that each task runs once, whatever the numbers of threads and tasks are.
void expect_each_once(std::optional<OpenMp> openmp) {
  for (const int64_t count_threads : {1, 2, 5}) {
    BenchThreads threads(count_threads, openmp);
    EXPECT_EQ(threads.threads(), count_threads);
    for (const int64_t count : {0, 1, 2, 7, 1000}) {
      Tasks tasks(count);
      const ParallelFor parallel = threads.parallel_for();
      parallel.call(parallel.pool, count, run_task, &tasks);
      for (const auto& runs : tasks.runs) ASSERT_EQ(runs, 1);
    }
    threads.rest();
  }
}

TEST(BenchThreads, RunEachTaskOnceWithoutOpenMp) {
  expect_each_once(std::nullopt);
  EXPECT_FALSE(BenchThreads(2, std::nullopt).is_torchs());
  EXPECT_TRUE(BenchThreads(1, std::nullopt).is_torchs()) << "one thread is the calling thread";
}

// Returns the runtime of torch, or of the machine.
std::optional<OpenMp> find_any_openmp() {
  if (const char* const packages = std::getenv("PBPROBE_TEST_TORCH")) load_openmp(std::string(packages) + "/torch/lib");
  return find_openmp();
}

constexpr const char* kNoOpenMp = "no OpenMP runtime: apt-get install libgomp1, or set PBPROBE_TEST_TORCH";

TEST(BenchThreads, RunEachTaskOnceWithOpenMp) {
  const auto openmp = find_any_openmp();
  if (!openmp) GTEST_SKIP() << kNoOpenMp;
  expect_each_once(openmp);
  EXPECT_TRUE(BenchThreads(2, openmp).is_torchs());
}

// at::parallel_for gives each thread successive tasks: with 5 tasks for 2 threads, 3 and 2.
TEST(BenchThreads, CutTasksAsTorchDoes) {
  const auto openmp = find_any_openmp();
  if (!openmp) GTEST_SKIP() << kNoOpenMp;
  BenchThreads threads(2, openmp);
  Tasks tasks(5);
  threads.run(5, run_task, &tasks);
  const auto& on = tasks.threads;
  EXPECT_EQ(on[0], std::this_thread::get_id());
  EXPECT_TRUE(on[0] == on[1] && on[1] == on[2] && on[3] == on[4] && on[2] != on[3]);
}

// Peak loops wait for each other, which ends only if each has a thread.
TEST(BenchThreads, RunAsManyTasksAsThreadsAtOnce) {
  BenchThreads threads(3);
  std::atomic<int> arrived{0};
  threads.run(
      3,
      [](void* state, int64_t) {
        auto& all = *static_cast<std::atomic<int>*>(state);
        for (++all; all < 3;) std::this_thread::yield();
      },
      &arrived);
  EXPECT_EQ(arrived, 3);
}

TEST(BenchThreads, RefuseRuntimeWithSmallerTeams) {
  const OpenMp single{.parallel = [](void (*function)(void*), void* data, unsigned, unsigned) { function(data); },
                      .thread_number = [] { return 0; },
                      .team_size = [] { return 1; }};
  BenchThreads threads(2, single);
  EXPECT_FALSE(threads.is_torchs());
  Tasks tasks(7);
  threads.run(7, run_task, &tasks);
  for (const auto& runs : tasks.runs) EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace pbprobe
