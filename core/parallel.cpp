// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/parallel.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "core/scope_exit.hpp"

namespace pbprobe {
namespace {

std::atomic<int> spare_cores{0};  // shared by all calls of run_tasks
thread_local bool inside_task = false;

int take_spare(size_t wanted) {
  int there = spare_cores.load();
  while (there > 0) {
    const int taken = std::min<int>(there, static_cast<int>(std::min<size_t>(wanted, 1024)));
    if (spare_cores.compare_exchange_weak(there, there - taken)) return taken;
  }
  return 0;
}

// Runs the tasks on this thread and helpers. If a task throws (usually for lack of memory), no further task starts, and
// the caller gets the exception. If a thread cannot be started, fewer threads do the work.
void spread(size_t count, size_t helper_count, const std::function<void(size_t)>& task,
            const std::function<void()>& helper_ends) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failed;
  const auto work = [&] {
    try {
      for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) task(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!failed) failed = std::current_exception();
    }
  };
  std::vector<std::jthread> helpers;
  try {
    helpers.reserve(helper_count);
    while (helpers.size() < helper_count) {
      helpers.emplace_back([&] {
        inside_task = true;
        work();
        helper_ends();
      });
    }
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  work();
  helpers.clear();  // joins them
  if (failed) std::rethrow_exception(failed);
}

}  // namespace

unsigned usable_cores() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) return static_cast<unsigned>(std::max(1, CPU_COUNT(&mask)));
  return std::max(1U, std::thread::hardware_concurrency());
}

void run_tasks(size_t count, unsigned threads, const std::function<void(size_t)>& task) {
  const size_t allowed = threads == 0 ? usable_cores() : threads;
  const size_t wanted = std::max<size_t>(1, std::min<size_t>(allowed, count));
  if (inside_task) return spread(count, wanted - 1, task, [] {});  // the outer call counts the cores
  const int unused = static_cast<int>(allowed - wanted);
  std::atomic<int> ended{0};
  spare_cores += unused;
  inside_task = true;
  const ScopeExit settle{[&] {
    inside_task = false;
    spare_cores -= unused + ended;
  }};
  spread(count, wanted - 1, task, [&] {
    ++ended;
    ++spare_cores;
  });
}

void run_on_spare_cores(size_t count, const std::function<void(size_t)>& task) {
  if (!inside_task) return run_tasks(count, 0, task);
  constexpr size_t kBatch = 32;
  for (size_t start = 0; start < count; start += kBatch) {
    const size_t size = std::min(kBatch, count - start);
    const int helpers = size > 1 ? take_spare(size - 1) : 0;
    const ScopeExit give_back{[&] { spare_cores += helpers; }};
    spread(
        size, static_cast<size_t>(helpers), [&](size_t i) { task(start + i); }, [] {});
  }
}

}  // namespace pbprobe
