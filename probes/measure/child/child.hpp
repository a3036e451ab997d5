// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The hidden subcommand `pbprobe measure`: a supervisor that forks one worker, and the worker that runs the request.
#pragma once

#include <sys/types.h>

#include <functional>

#include "probes/process/channel.hpp"
#include "probes/process/events.hpp"
#include "probes/process/request.hpp"

namespace pbprobe {

// Reads a MeasureRequest from one descriptor and writes events to the other. Returns the exit code: 0 when an answer
// was written, 2 otherwise. Call from main() while the process has a single thread. `isolated`: the
// process is in its own PID namespace.
[[nodiscard]] int measure_main(int request_descriptor, int result_descriptor, bool isolated);

struct Supervision {
  double limit_seconds = 60;
  double patience_seconds = 2;              // time that a killed process may take to disappear
  bool isolated = false;                    // in its own PID namespace, where every process may be ended
  std::function<int(pid_t, int)> end_them;  // ::kill; a test puts one here that has no effect
  Broker* broker = nullptr;                 // receives the worker's messages; null in tests
};

// Waits for the worker, ends it at the limit, and ends whatever it left behind. The caller must be the subreaper of
// its descendants and have SIGCHLD, SIGTERM and SIGINT blocked (measure_main sees to it).
[[nodiscard]] WorkerEnd supervise(pid_t worker, const Supervision& supervision);

// Runs the request in this process and writes each fact at once. Returns false if the request is invalid. Sets
// environment variables and may load a foreign libtorch: call only in a child process.
[[nodiscard]] bool run_request(const MeasureRequest& request, EventWriter& events);

}  // namespace pbprobe
