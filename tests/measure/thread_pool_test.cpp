// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/kernels/thread_pool.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <mutex>
#include <numeric>
#include <set>
#include <system_error>

#include <gtest/gtest.h>

namespace pbprobe {
namespace {

struct Tally {
  std::vector<int> counts;
  std::mutex mutex;
  std::set<std::thread::id> threads;
};

void count_one(void* state, int64_t index) {
  auto& tally = *static_cast<Tally*>(state);
  const std::lock_guard lock(tally.mutex);
  ++tally.counts[static_cast<size_t>(index)];
  tally.threads.insert(std::this_thread::get_id());
}

TEST(ThreadPoolTest, RunsEachIndexOnce) {
  for (const int64_t threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t count : {0, 1, 2, 7, 1000}) {
      Tally tally{std::vector<int>(static_cast<size_t>(count))};
      const ParallelFor parallel = pool.parallel_for();
      parallel.call(parallel.pool, count, count_one, &tally);
      EXPECT_EQ(std::accumulate(tally.counts.begin(), tally.counts.end(), int64_t{0}), count);
      for (const int times : tally.counts) ASSERT_EQ(times, 1);
    }
  }
}

TEST(ThreadPoolTest, ManyShortRunsAndRestsDoNotHang) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum{0};
  const auto add = [](void* state, int64_t index) { *static_cast<std::atomic<int64_t>*>(state) += index; };
  for (int i = 0; i < 2000; ++i) {
    pool.run(10, add, &sum);
    if (i % 7 == 0) pool.rest();
  }
  EXPECT_EQ(sum, 2000 * 45);
}

// Tasks that wait for each other end only if each has a thread of its own: the peak loops rely on it.
TEST(ThreadPoolTest, RunsOneTaskOnEachThread) {
  ThreadPool pool(4);
  struct Meeting {
    std::atomic<int> arrived{0};
  } meeting;
  for (int i = 0; i < 20; ++i) {
    meeting.arrived = 0;
    pool.run(
        4,
        [](void* state, int64_t) {
          auto& arrived = static_cast<Meeting*>(state)->arrived;
          ++arrived;
          while (arrived < 4) std::this_thread::yield();
        },
        &meeting);
    EXPECT_EQ(meeting.arrived, 4);
  }
}

// A short run does not wait for workers that it has no task for: here they could not even report.
TEST(ThreadPoolTest, CallsNoMoreThreadsThanTasks) {
  ThreadPool pool(6);
  Tally tally{std::vector<int>(2)};
  for (int i = 0; i < 200; ++i) pool.run(2, count_one, &tally);
  EXPECT_EQ(tally.counts, (std::vector<int>{200, 200}));
  EXPECT_LE(tally.threads.size(), 2U);
}

std::atomic<bool> held{false};
std::atomic<bool> released{false};

void hold(int) {
  held = true;
  while (!released) {
  }
}

// Models a busy CPU: the caller runs all tasks itself, and the worker helps again later.
TEST(ThreadPoolTest, FinishesWhileAWorkerIsBlocked) {
  ThreadPool pool(2);
  struct Meeting {
    const pthread_t caller = pthread_self();
    std::atomic<pthread_t> worker{};
    std::atomic<int> arrived{0};
  } meeting;
  const auto meet = [](void* state, int64_t) {
    auto& here = *static_cast<Meeting*>(state);
    if (pthread_equal(pthread_self(), here.caller) == 0) here.worker = pthread_self();
    ++here.arrived;
    while (here.arrived < 2) std::this_thread::yield();
  };
  pool.run(2, meet, &meeting);
  const auto before = std::signal(SIGUSR1, hold);
  ASSERT_EQ(pthread_kill(meeting.worker, SIGUSR1), 0);
  while (!held) std::this_thread::yield();
  Tally tally{std::vector<int>(2)};
  pool.run(2, count_one, &tally);
  EXPECT_EQ(tally.counts, (std::vector<int>{1, 1}));
  EXPECT_EQ(tally.threads, std::set{std::this_thread::get_id()});
  released = true;
  meeting.arrived = 0;
  pool.run(2, meet, &meeting);
  EXPECT_EQ(meeting.arrived, 2);
  std::signal(SIGUSR1, before);
}

TEST(ThreadPoolTest, RestingWorkersTakeNoTime) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum{0};
  pool.run(
      3, [](void* state, int64_t) { ++*static_cast<std::atomic<int64_t>*>(state); }, &sum);
  pool.rest();
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.02);
}

// The existing threads end first: a process that only ran short of memory does not die of it.
TEST(ThreadPoolTest, ThrowsToCallerIfThreadCreationFails) {
  const auto with_little_memory = [] {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto limit = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE)) + (64U << 20U);
    const rlimit address_space{limit, limit};
    if (setrlimit(RLIMIT_AS, &address_space) != 0) _exit(3);
    try {
      const ThreadPool pool(512);
    } catch (const std::system_error&) {
      _exit(0);
    }
    _exit(1);
  };
  EXPECT_EXIT(with_little_memory(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace pbprobe
