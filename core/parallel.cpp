// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/parallel.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace pbprobe {
namespace {

std::atomic<int> spare_cores{0};  // of all run_tasks together
thread_local bool inside_task = false;

int take_spare(size_t wanted) {
  int there = spare_cores.load();
  while (there > 0) {
    const int taken = std::min<int>(there, static_cast<int>(std::min<size_t>(wanted, 1024)));
    if (spare_cores.compare_exchange_weak(there, there - taken)) return taken;
  }
  return 0;
}

void spread(size_t count, size_t helper_count, const std::function<void(size_t)>& task,
            const std::function<void()>& helper_ends) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) task(i);
  };
  std::vector<std::thread> helpers;
  for (size_t i = 0; i < helper_count; ++i) {
    helpers.emplace_back([&] {
      inside_task = true;
      work();
      helper_ends();
    });
  }
  work();
  for (auto& helper : helpers) helper.join();
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
  if (inside_task) return spread(count, wanted - 1, task, [] {});  // the outer call keeps the accounts
  const int unused = static_cast<int>(allowed - wanted);
  std::atomic<int> ended{0};
  spare_cores += unused;
  inside_task = true;
  spread(count, wanted - 1, task, [&] {
    ++ended;
    ++spare_cores;
  });
  inside_task = false;
  spare_cores -= unused + ended;
}

void run_on_spare_cores(size_t count, const std::function<void(size_t)>& task) {
  if (!inside_task) return run_tasks(count, 0, task);
  constexpr size_t kBatch = 32;
  for (size_t start = 0; start < count; start += kBatch) {
    const size_t size = std::min(kBatch, count - start);
    const int helpers = size > 1 ? take_spare(size - 1) : 0;
    spread(
        size, static_cast<size_t>(helpers), [&](size_t i) { task(start + i); }, [] {});
    spare_cores += helpers;
  }
}

}  // namespace pbprobe
