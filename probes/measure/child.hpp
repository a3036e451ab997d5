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
// was written, 2 otherwise. To be called from a program's main, while the process has a single thread. `isolated`: who
// started it says that it is in a namespace of processes of its own.
[[nodiscard]] int measure_main(int request_descriptor, int result_descriptor, bool isolated);

struct Supervision {
  double limit_seconds = 60;
  double patience_seconds = 2;              // how long a killed process may take to disappear
  bool isolated = false;                    // in a namespace of processes of its own, where all may be ended
  std::function<int(pid_t, int)> end_them;  // ::kill; a test puts one here that has no effect
  Broker* broker = nullptr;                 // what the worker tells; a test has none
};

// Waits for the worker, ends it at the limit, and ends whatever it left behind. The caller must be the subreaper of
// its descendants and have SIGCHLD, SIGTERM and SIGINT blocked (measure_main sees to it).
[[nodiscard]] WorkerEnd supervise(pid_t worker, const Supervision& supervision);

// Does what the request asks in this process, and writes each fact at once. False: the request was refused. Sets
// environment variables and may load a foreign libtorch: for a child process only.
[[nodiscard]] bool run_request(const MeasureRequest& request, EventWriter& events);

}  // namespace pbprobe
