// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Spreads independent tasks over threads.
#pragma once

#include <cstddef>
#include <functional>

namespace pbprobe {

// Cores that this process may use: its affinity mask, not the machine's count.
[[nodiscard]] unsigned usable_cores();

// Calls task(0) … task(count - 1), started in this order, on up to `threads` threads (0: all usable cores). The caller
// is one of them. Tasks must not throw.
void run_tasks(size_t count, unsigned threads, const std::function<void(size_t)>& task);

// The same from inside a task, on cores that no task of run_tasks uses at that moment: again asked for every few tasks,
// since cores fall idle as the outer tasks end. Outside of run_tasks, on all usable cores.
void run_on_spare_cores(size_t count, const std::function<void(size_t)>& task);

}  // namespace pbprobe
