// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Sandbox for a child that runs foreign code, as far as the system allows: its own process, network and user
// namespaces. The child reaches no other process, and all its processes end with it.
#pragma once

#include <cstdint>
#include <optional>

#include <sys/types.h>

namespace pbprobe {

// Data that must be ready before the fork, after which only async-signal-safe calls are allowed.
struct Sandbox {
  bool pids = false;     // a process namespace is possible
  bool proc = false;     // a separate /proc is possible
  bool apart = false;    // the child runs in its own namespaces
  int status_read = -1;  // pipe for the wait status of the kept process
  int status_write = -1;
  char uid_map[64] = "";
  char gid_map[64] = "";
};

// Finds out which namespaces are possible, and opens the pipe. Call before fork_into().
[[nodiscard]] Sandbox prepare_sandbox();

// Forks into the sandbox. Returns 0 in the child, which has its own session. In the parent, returns the pid whose end
// ends all processes of the sandbox.
[[nodiscard]] pid_t fork_into(Sandbox& sandbox);

// Returns the wait status of the kept process after its keeper has ended; nullopt if the keeper was killed before, or
// without a keeper.
[[nodiscard]] std::optional<int> read_kept_status(const Sandbox& sandbox);

// Returns the wait status of the kept process, else of the child; nullopt if neither is known. A keeper that exits
// normally without reporting was unable to wait.
[[nodiscard]] std::optional<int> end_status(const Sandbox& sandbox, std::optional<int> status);

void close_sandbox(Sandbox& sandbox);

// Closes all descriptors from `first` on.
void close_descriptors(unsigned first);

struct SandboxUsage {
  int64_t processes = 0;
  int64_t resident_bytes = 0;  // shared pages count once per process
};

// Measures the processes in the child's namespace, or in its session if it has no namespace.
[[nodiscard]] SandboxUsage measure_usage(pid_t child, const Sandbox& sandbox);

// Returns the memory limit: four fifths of the memory of this machine or cgroup.
[[nodiscard]] int64_t default_memory_limit();

// Reports whether /proc shows the processes that this process can reach by pid.
[[nodiscard]] bool has_own_proc();

}  // namespace pbprobe
