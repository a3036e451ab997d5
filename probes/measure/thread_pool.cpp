// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/thread_pool.hpp"

#include <algorithm>
#include <chrono>

namespace pbprobe {
namespace {

// Longer than the gap between two passes of one product, shorter than anything that is timed.
constexpr auto kWatch = std::chrono::microseconds(50);

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until the condition holds or the time is over.
template <class Condition>
bool watch(Condition&& condition) {
  const auto until = std::chrono::steady_clock::now() + kWatch;
  do {
    for (int i = 0; i < 64; ++i) {
      if (condition()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < until);
  return condition();
}

}  // namespace

ThreadPool::ThreadPool(int64_t threads) {
  for (int64_t i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

ParallelFor ThreadPool::parallel_for() {
  return {[](void* pool, int64_t count, ParallelFor::Task task, void* state) {
            static_cast<ThreadPool*>(pool)->run(count, task, state);
          },
          this};
}

void ThreadPool::run(int64_t count, ParallelFor::Task task, void* state) {
  if (workers_.empty() || count <= 1) {
    for (int64_t i = 0; i < count; ++i) task(state, i);
    return;
  }
  job_ = {count, task, state};
  next_ = 0;
  busy_ = static_cast<int64_t>(workers_.size());
  {
    const std::lock_guard lock(mutex_);
    resting_ = false;
    ++generation_;
  }
  wake_.notify_all();
  take_tasks();
  // Every worker reports, so that none can still look at this job when the next one is written.
  while (!watch([this] { return busy_ == 0; })) std::this_thread::yield();
}

void ThreadPool::take_tasks() {
  for (int64_t i = 0; (i = next_++) < job_.count;) job_.task(job_.state, i);
}

void ThreadPool::work() {
  uint64_t seen = 0;
  while (true) {
    const auto called = [&] { return generation_ != seen || stopping_; };
    if (!watch([&] { return called() || resting_; }) || !called()) {
      std::unique_lock lock(mutex_);
      ++parked_;
      parked_changed_.notify_all();
      wake_.wait(lock, called);
      --parked_;
    }
    if (stopping_) return;
    seen = generation_;
    take_tasks();
    --busy_;
  }
}

void ThreadPool::rest() {
  std::unique_lock lock(mutex_);
  resting_ = true;
  parked_changed_.wait(lock, [this] { return parked_ == static_cast<int64_t>(workers_.size()); });
}

}  // namespace pbprobe
