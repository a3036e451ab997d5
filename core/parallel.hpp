// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Spreads independent tasks over threads.
#pragma once

#include <cstddef>
#include <functional>

namespace pbprobe {

// Calls task(0) … task(count - 1), started in this order, on up to `threads` threads (0: all usable cores) including
// the calling thread. If a task throws, no further task starts, and the caller gets the exception.
[[nodiscard]] unsigned usable_cores();

// Calls task(0) … task(count - 1), started in this order, on up to `threads` threads (0: all usable cores). The caller
// is one of them. Tasks must not throw.
void run_tasks(size_t count, unsigned threads, const std::function<void(size_t)>& task);

// Runs tasks like run_tasks, from inside a task of run_tasks, on cores that no such task currently uses. Checks for
// idle cores again every few tasks, because cores become idle as the outer tasks end. Outside of run_tasks, uses all
// usable cores.
void run_on_spare_cores(size_t count, const std::function<void(size_t)>& task);

}  // namespace pbprobe
