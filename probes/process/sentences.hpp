// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Sentences that describe the end of a child, with the fix. Does no I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "probes/process/events.hpp"

namespace pbprobe {

// End of the started process, as observed by its starter.
struct ChildEnd {
  int status = 0;           // wait status, as returned by waitpid
  bool over_limit = false;  // exceeded its time limit
  bool hung = false;        // did not end after SIGKILL
  bool unseen = false;      // the system does not report the end
  std::string excess;       // exceeded resource that caused the kill: "600 processes, …"
  bool too_much_memory = false;
};

// Returns "SIGSEGV", or "signal 42" for a signal without a known name.
[[nodiscard]] std::string signal_name(int signal);

// Reports whether the worker or the process below it did not end after SIGKILL.
[[nodiscard]] bool is_hung(const EventLog& log, const ChildEnd& end);

// The child wrote no event at all.
[[nodiscard]] std::string no_answer_sentence(std::string_view program, const EventLog& log, const ChildEnd& end,
                                             std::string_view output);

// Describes the fault; returns nullopt if the worker finished and ended normally.
[[nodiscard]] std::optional<std::string> fault_sentence(const EventLog& log, const ChildEnd& end,
                                                        std::string_view output, double limit_seconds);

// Returns why the worker could not run; nullopt if a fault of the tested code ended it.
[[nodiscard]] std::optional<Obstacle> fault_obstacle(const EventLog& log, const ChildEnd& end, std::string_view output);

// Describes the output of a worker that succeeded.
[[nodiscard]] std::string output_sentence(std::string_view output, size_t bytes);

[[nodiscard]] std::string left_behind_sentence(int64_t processes, const std::optional<std::string>& libtorch_dir);

}  // namespace pbprobe
