// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The exact tier on every core: a single core that computes wrong is found by no test that runs elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/facts/host.hpp"
#include "probes/process/events.hpp"

namespace pbprobe {

// Returns the numbers of the CPUs that this process may use.
[[nodiscard]] std::vector<int64_t> allowed_cpus();

// Test that runs on each CPU. Returns "", or a sentence about the fault.
using CoreCheck = std::function<std::string()>;

struct CoreResult {
  int64_t cpu = 0;
  std::string wrong;    // sentence about the fault; empty if every result was right
  std::string skipped;  // the system would not run a thread there
};

// Runs the test on every CPU of the list, in a thread bound to the CPU, at most `threads` at once. Keeps the affinity
// of the caller. Returns the results in the order of the list.
[[nodiscard]] std::vector<CoreResult> check_each_core(const std::vector<int64_t>& cpus, int64_t threads,
                                                      const CoreCheck& check);

// Runs the exact tier of every built kernel that this host can run, on the calling thread.
[[nodiscard]] std::string check_kernels_here(const Host& host);

// Checks all kernels on each allowed CPU; reports each faulty CPU and the exact ones.
void check_every_core(const Host& host, EventWriter& events);

}  // namespace pbprobe
