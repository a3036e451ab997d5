// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "bindings/calibrate.hpp"

#include <algorithm>
#include <chrono>

#include "kernels/gemm/table.hpp"

namespace pbprobe::ops {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSliceSeconds = 2e-3;
constexpr int kSlices = 5;

double time_loop(CpuLoop loop, int64_t iterations) {
  const auto begin = Clock::now();
  [[maybe_unused]] volatile uint64_t sink = loop(iterations);
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Rates measure_rates(const Host& host) {
  Rates rates;
  for (const Peak& peak : peak_table()) {
    const auto& targets = host.cpu.targets;
    if (peak.function == nullptr || peak.operations == 0 ||
        std::find(targets.begin(), targets.end(), peak.target) == targets.end())
      continue;
    int64_t iterations = 64;
    while (time_loop(peak.function, iterations) < kSliceSeconds) iterations *= 2;
    double least = time_loop(peak.function, iterations);
    for (int i = 1; i < kSlices; ++i) least = std::min(least, time_loop(peak.function, iterations));
    rates[std::string(peak.name)] = static_cast<double>(iterations * peak.operations) / least * 1e-9;
  }
  return rates;
}

}  // namespace pbprobe::ops
