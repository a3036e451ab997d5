// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/thread_pool.hpp"

#include <algorithm>
#include <chrono>

namespace pbprobe {
namespace {

// Longer than the gap between two passes of one GEMM, shorter than anything that is timed.
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

// A worker says that it parks before it looks at its rings for the last time, and who rings looks whether it parked
// afterwards: one of the two sees the other.
void ThreadPool::Bell::ring() {
  ++rings;
  if (parked) rings.notify_one();
}

// Waking a thread takes microseconds: whoever was called calls four more, worker 0 being the caller of run().
void ThreadPool::ring_next(int64_t caller) {
  constexpr int64_t kFan = 4;
  const int64_t last = std::min(kFan * (caller + 1), job_.called);
  for (int64_t next = kFan * caller + 1; next <= last; ++next) bells_[static_cast<size_t>(next)].ring();
}

ThreadPool::ThreadPool(int64_t threads)
    : bells_(std::make_unique<Bell[]>(static_cast<size_t>(std::max<int64_t>(threads, 1)))) {
  try {
    for (int64_t i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
  } catch (...) {  // no further thread: those that there are must end first
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() {
  stop();
}

void ThreadPool::stop() {
  stopping_ = true;
  for (size_t i = 1; i <= workers_.size(); ++i) bells_[i].ring();
  workers_.clear();  // joins them
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
  const auto called = std::min(static_cast<int64_t>(workers_.size()), count - 1);
  job_ = {called, count, task, state};
  next_ = 0;
  resting_ = false;
  members_ = 0;
  ring_next(0);
  take_tasks();
  // Whoever came has to leave, so that none can still look at this job when the next one is written.
  members_ += kClosed;
  while (!watch([this] { return members_ == kClosed; })) std::this_thread::yield();
}

// A worker that wakes late helps with whatever job is open then.
bool ThreadPool::join() {
  int64_t members = members_;
  while (members < kClosed) {
    if (members_.compare_exchange_weak(members, members + 1)) return true;
  }
  return false;
}

void ThreadPool::take_tasks() {
  for (int64_t i = 0; (i = next_++) < job_.count;) job_.task(job_.state, i);
}

void ThreadPool::work(int64_t worker) {
  Bell& bell = bells_[static_cast<size_t>(worker)];
  uint32_t heard = 0;
  while (true) {
    const auto called = [&] { return bell.rings != heard; };
    if (!watch([&] { return called() || resting_; }) || !called()) {
      bell.parked = true;
      ++parked_;
      parked_.notify_all();
      while (!called()) bell.rings.wait(heard);
      --parked_;
      bell.parked = false;
    }
    if (stopping_) return;
    heard = bell.rings;
    if (!join()) continue;
    ring_next(worker);
    take_tasks();
    --members_;
  }
}

void ThreadPool::rest() {
  resting_ = true;
  for (int32_t parked = parked_; parked != static_cast<int32_t>(workers_.size()); parked = parked_)
    parked_.wait(parked);
}

}  // namespace pbprobe
