// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/kernels/thread_pool.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/list_folder.hpp"
#include "core/spin.hpp"
#include "probes/measure/child/dlopen.hpp"

namespace pbprobe {

// A worker says that it parks before it looks at its rings for the last time, and who rings looks whether it parked
// afterwards: one of the two sees the other.
void ThreadPool::Bell::ring() {
  ++rings;
  if (parked) rings.notify_one();
}

// Wakes four more workers: waking a thread takes microseconds, so the workers form a tree with the caller of run() as
// worker 0.
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
  // All members must leave before the next job overwrites job_.
  members_ += kClosed;
  wait_until([this] { return members_ == kClosed; });
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
    if (!spin_until([&] { return called() || resting_; }) || !called()) {
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

namespace {

// libtorch brings a libgomp of its own, under a name with a digest in some builds.
bool is_runtime(std::string_view file) {
  constexpr std::array<std::string_view, 3> kNames{"libgomp", "libiomp5", "libomp"};
  return file.find(".so") != file.npos &&
         std::ranges::any_of(kNames, [&](std::string_view name) { return file.starts_with(name); });
}

std::string find_loaded_runtime() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        const std::string_view name = info->dlpi_name;
        const std::string_view file = name.substr(name.rfind('/') + 1);
        if (!is_runtime(file)) return 0;
        *static_cast<std::string*>(found) = name;
        return 1;
      },
      &path);
  return path;
}

struct Work {
  const OpenMp* openmp;
  int64_t count;
  ParallelFor::Task task;
  void* state;
};

// One thread's share, cut as at::parallel_for cuts it.
void run_share(void* data) {
  const Work& work = *static_cast<const Work*>(data);
  const int64_t team = std::min<int64_t>(work.openmp->team_size(), work.count);
  const int64_t share = (work.count + team - 1) / team;
  const int64_t begin = work.openmp->thread_number() * share;
  for (int64_t i = begin; i < std::min(begin + share, work.count); ++i) work.task(work.state, i);
}

bool gives_full_teams(const OpenMp& openmp, int64_t threads) {
  struct Team {
    const OpenMp* openmp;
    int64_t size;
  } team{&openmp, 0};
  openmp.parallel(
      [](void* data) {
        auto& seen = *static_cast<Team*>(data);
        if (seen.openmp->thread_number() == 0) seen.size = seen.openmp->team_size();
      },
      &team, static_cast<unsigned>(threads), 0);
  return team.size == threads;
}

}  // namespace

void load_openmp(const std::string& folder) {
  if (!find_loaded_runtime().empty()) return;
  std::error_code error;
  for (const FolderEntry& entry : list_folder(folder, error))
    if (is_runtime(entry.path.filename().string()) && open_library(entry.path.string(), Scope::local).ok()) return;
}

std::optional<OpenMp> find_openmp() {
  const std::string loaded = find_loaded_runtime();
  const auto library = open_library(loaded.empty() ? "libgomp.so.1" : loaded, Scope::local);
  if (!library.ok()) return std::nullopt;
  Symbols symbols{.library = *library};
  OpenMp openmp;
  symbols("GOMP_parallel", openmp.parallel);
  symbols("omp_get_thread_num", openmp.thread_number);
  symbols("omp_get_num_threads", openmp.team_size);
  if (!symbols.missing.empty()) return std::nullopt;
  return openmp;
}

BenchThreads::BenchThreads(int64_t threads, std::optional<OpenMp> openmp) : threads_(threads) {
  if (threads == 1) return;
  { const ThreadPool enough(threads); }  // throws if a thread cannot be started, where libgomp ends the process
  if (openmp && gives_full_teams(*openmp, threads)) {
    openmp_ = openmp;
  } else {
    pool_.emplace(threads);
  }
}

ParallelFor BenchThreads::parallel_for() {
  return {[](void* threads, int64_t count, ParallelFor::Task task, void* state) {
            static_cast<BenchThreads*>(threads)->run(count, task, state);
          },
          this};
}

void BenchThreads::run(int64_t count, ParallelFor::Task task, void* state) {
  if (pool_) return pool_->run(count, task, state);
  if (!openmp_ || count <= 1) {
    for (int64_t i = 0; i < count; ++i) task(state, i);
    return;
  }
  Work work{&*openmp_, count, task, state};
  openmp_->parallel(run_share, &work, static_cast<unsigned>(threads_), 0);
}

void BenchThreads::rest() {
  if (pool_) pool_->rest();
}

}  // namespace pbprobe
