// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The `parallel_for` of our CPU kernels. Threads inherit the process's affinity.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/dispatch/run.hpp"

namespace pbprobe {

// The caller's thread and threads − 1 workers, of which a run calls only as many as it has tasks for: the others sleep
// on, and nobody waits for them, nor for one that comes when all tasks are taken. Workers watch for their next call for
// a moment, then park; one run at a time, from one thread.
class ThreadPool {
 public:
  explicit ThreadPool(int64_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int64_t threads() const { return static_cast<int64_t>(workers_.size()) + 1; }
  [[nodiscard]] ParallelFor parallel_for();
  void run(int64_t count, ParallelFor::Task task, void* state);

  // Returns when every worker is parked: a peer that is measured next does not share the cores with their watching.
  void rest();

 private:
  // One for each worker, on a cache line of its own.
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
  // Workers that are at the job, and kClosed where no more of them may come: job_ changes only while that is all.
  static constexpr int64_t kClosed = int64_t{1} << 32;
  std::atomic<int64_t> members_{kClosed};
  std::atomic<bool> resting_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<int32_t> parked_{0};
  std::unique_ptr<Bell[]> bells_;
  std::vector<std::jthread> workers_;
};

}  // namespace pbprobe
