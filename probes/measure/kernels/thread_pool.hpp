// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Threads of pbprobe's CPU kernels. They inherit the affinity of the process.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/dispatch/run.hpp"

namespace pbprobe {

// The caller's thread and threads − 1 workers. A run wakes at most one worker per task, and waits for no worker without
// a task. Workers spin briefly for the next run, then park. Supports one run at a time, from one thread.
class ThreadPool {
 public:
  explicit ThreadPool(int64_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int64_t threads() const { return static_cast<int64_t>(workers_.size()) + 1; }
  [[nodiscard]] ParallelFor parallel_for();
  void run(int64_t count, ParallelFor::Task task, void* state);

  // Returns when every worker is parked, so that the next peer does not share cores with spinning workers.
  void rest();

 private:
  // State of one worker, on its own cache line.
  struct alignas(64) Bell {
    std::atomic<uint32_t> rings{0};
    std::atomic<bool> parked{false};

    void ring();
  };

  void work(int64_t worker);
  bool join();
  void ring_next(int64_t caller);
  void stop();
  void take_tasks();

  struct Job {
    int64_t called = 0;  // workers
    int64_t count = 0;
    ParallelFor::Task task = nullptr;
    void* state = nullptr;
  };
  Job job_;
  std::atomic<int64_t> next_{0};
  // Workers in the job, plus kClosed if no more may enter. job_ changes only while the value is kClosed.
  static constexpr int64_t kClosed = int64_t{1} << 32;
  std::atomic<int64_t> members_{kClosed};
  std::atomic<bool> resting_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<int32_t> parked_{0};
  std::unique_ptr<Bell[]> bells_;
  std::vector<std::jthread> workers_;
};

// The OpenMP runtime that torch uses, by the two functions that compilers call. libgomp, libiomp5 and libomp have both.
struct OpenMp {
  void (*parallel)(void (*function)(void*), void* data, unsigned threads, unsigned flags) = nullptr;
  int (*thread_number)() = nullptr;
  int (*team_size)() = nullptr;
};

// Loads the runtime that a torch brings in the folder of its libraries, unless this process has one already.
void load_openmp(const std::string& folder);

// Returns the runtime that this process has loaded, else the machine's libgomp; nullopt without a runtime.
[[nodiscard]] std::optional<OpenMp> find_openmp();

// Runs tasks as at::parallel_for does: OpenMP's threads, of which each gets a piece of successive tasks. Uses a
// ThreadPool if no runtime is found or its teams are too small; is_torchs() reports which.
class BenchThreads {
 public:
  // Uses `openmp` if it is given. Requires threads >= 1. Throws std::system_error if a thread cannot be started.
  explicit BenchThreads(int64_t threads, std::optional<OpenMp> openmp = find_openmp());

  [[nodiscard]] int64_t threads() const { return threads_; }
  [[nodiscard]] bool is_torchs() const { return threads_ == 1 || openmp_.has_value(); }
  [[nodiscard]] ParallelFor parallel_for();
  // Runs each task once. With count == threads(), all run at the same time.
  void run(int64_t count, ParallelFor::Task task, void* state);
  // Returns when no thread of a ThreadPool watches for work. OpenMP's threads are also those of a libtorch.
  void rest();

 private:
  int64_t threads_;
  std::optional<OpenMp> openmp_;
  std::optional<ThreadPool> pool_;
};

}  // namespace pbprobe
