// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The threads that bench runs our CPU kernels on: those of the operators, so that both take the same time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/dispatch/run.hpp"
#include "probes/measure/thread_pool.hpp"

namespace pbprobe {

// The OpenMP runtime that torch uses, by the two functions that compilers call. libgomp, libiomp5 and libomp have both.
struct OpenMp {
  void (*parallel)(void (*function)(void*), void* data, unsigned threads, unsigned flags) = nullptr;
  int (*thread_number)() = nullptr;
  int (*team_size)() = nullptr;
};

// Loads the runtime that a torch brings in the folder of its libraries, unless this process has one already.
void load_openmp(const std::string& folder);

// Returns the runtime that this process has loaded, else the machine's libgomp; nullopt if there is none.
[[nodiscard]] std::optional<OpenMp> find_openmp();

// Runs tasks as at::parallel_for does: OpenMP's threads, of which each gets a piece of successive tasks. Uses a
// ThreadPool if no runtime is found or its teams are smaller than asked for; is_torchs() reports which.
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
