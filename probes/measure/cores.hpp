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
#include "core/result.hpp"
#include "probes/process/events.hpp"

namespace pbprobe {

// The CPUs that the scheduler may give this process, by number.
[[nodiscard]] std::vector<int64_t> allowed_cpus();

// What is asked on each CPU: empty, or one sentence with what was wrong there.
using CoreCheck = std::function<std::string()>;

struct CoreResult {
  int64_t cpu = 0;
  std::string wrong;    // empty: all was right
  std::string skipped;  // the system would not run a thread there
};

// Asks on every CPU of the list, by a thread that is bound to it, with at most `threads` of them at once. The caller's
// own affinity stays as it is. In the order of the list.
[[nodiscard]] std::vector<CoreResult> on_every_core(const std::vector<int64_t>& cpus, int64_t threads,
                                                    const CoreCheck& check);

// The exact tier of every kernel that is built and that this host runs, on the calling thread.
[[nodiscard]] std::string check_kernels_here(const Host& host);

// All of it: a problem for each CPU that is wrong, and which ones were right.
void check_every_core(const Host& host, EventWriter& events);

}  // namespace pbprobe
