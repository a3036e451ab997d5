// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The `parallel_for` of our CPU kernels. Threads inherit the process's affinity.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/gemm/run.hpp"

namespace pbprobe {

// The caller's thread and threads − 1 workers. Workers watch for the next task for a moment, then park; one run at a
// time, from one thread.
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
  void work();
  void take_tasks();

  struct Job {
    int64_t count = 0;
    ParallelFor::Task task = nullptr;
    void* state = nullptr;
  };
  Job job_;
  std::atomic<int64_t> next_{0};
  std::atomic<int64_t> busy_{0};
  std::atomic<uint64_t> generation_{0};
  std::atomic<bool> resting_{false};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable parked_changed_;
  int64_t parked_ = 0;
  std::vector<std::thread> workers_;
};

}  // namespace pbprobe
