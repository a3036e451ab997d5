// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/kernels/cpu_wait.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

namespace pbprobe {

CpuTime read_cpu_time() {
  CpuTime sum;
  std::error_code none;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", none)) {
    double ran_ns = 0, waited_ns = 0;
    std::ifstream(thread.path() / "schedstat") >> ran_ns >> waited_ns;
    sum.ran_seconds += ran_ns * 1e-9;
    sum.waited_seconds += waited_ns * 1e-9;
  }
  return sum;
}

std::optional<std::string> describe_cpu_wait(const CpuTime& before, const CpuTime& after) {
  constexpr double kMostWait = 0.10;
  const double waited = after.waited_seconds - before.waited_seconds;
  const double share = waited / (waited + after.ran_seconds - before.ran_seconds);
  if (!(share > kMostWait)) return std::nullopt;  // also if nothing ran
  return fmt::format("the threads waited {:.0f} % of the time for a CPU", 100 * share);
}

}  // namespace pbprobe
