// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What a child that runs foreign code is kept in, as far as this system allows: namespaces of its own for processes,
// network and users, so that it reaches no process but its own, and all of them end with it.
#pragma once

#include <cstdint>
#include <optional>

#include <sys/types.h>

namespace pbprobe {

// What must be ready before the fork: only async-signal-safe calls may follow it.
struct Sandbox {
  bool pids = false;     // its processes may be in a namespace of their own
  bool proc = false;     // and be listed by a /proc of their own
  bool apart = false;    // they are
  int status_read = -1;  // the kept process's wait status comes here
  int status_write = -1;
  char uid_map[64] = "";
  char gid_map[64] = "";
};

[[nodiscard]] Sandbox prepare_sandbox();

// As fork(): in the child 0, in a session of its own; in the parent the number of the process whose end ends all.
[[nodiscard]] pid_t fork_into(Sandbox& sandbox);

// The wait status of the kept process, once its keeper has ended; null where the keeper was ended first, or there is
// none.
[[nodiscard]] std::optional<int> kept_status(const Sandbox& sandbox);

// The wait status of the kept process, or that of its child, as the system tells it; null where it tells neither. A
// keeper that ends without a word, and by itself, could not wait.
[[nodiscard]] std::optional<int> end_status(const Sandbox& sandbox, std::optional<int> status);

void close_sandbox(Sandbox& sandbox);

// All descriptors from this number on.
void close_from(unsigned first);

struct SandboxUsage {
  int64_t processes = 0;
  int64_t resident_bytes = 0;  // shared pages are counted for each
};

// Those in the child's namespace, or in its session where it has none.
[[nodiscard]] SandboxUsage usage_of(pid_t child, const Sandbox& sandbox);

// Four fifths of what this machine, or this control group, has.
[[nodiscard]] int64_t most_memory_bytes();

// Whether /proc tells of the processes that this one can reach by their numbers.
[[nodiscard]] bool proc_is_ours();

}  // namespace pbprobe
