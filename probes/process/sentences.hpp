// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What became of a child, in one sentence with the way out. No I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "probes/process/events.hpp"

namespace pbprobe {

// How the started process itself ended, as its starter saw it.
struct ChildEnd {
  int status = 0;           // as waitpid gives it
  bool over_limit = false;  // it did not end itself in time
  bool hung = false;        // it did not end by SIGKILL either
  bool unseen = false;      // the system does not tell how
  std::string excess;       // what it took too much of, for which it was ended: "600 processes, …"
  bool too_much_memory = false;
};

// "SIGSEGV"; "signal 42" for those without a name here.
[[nodiscard]] std::string signal_name(int signal);

[[nodiscard]] bool is_hung(const EventLog& log, const ChildEnd& end);

// The child wrote no event at all.
[[nodiscard]] std::string no_answer_sentence(std::string_view program, const EventLog& log, const ChildEnd& end,
                                             std::string_view output);

// Null where the worker finished and ended as it should.
[[nodiscard]] std::optional<std::string> fault_sentence(const EventLog& log, const ChildEnd& end,
                                                        std::string_view output, double limit_seconds);

// Why it could not run; null: what ended it is a fault of what ran.
[[nodiscard]] std::optional<Obstacle> fault_obstacle(const EventLog& log, const ChildEnd& end, std::string_view output);

// It worked, and printed something.
[[nodiscard]] std::string output_sentence(std::string_view output, size_t bytes);

[[nodiscard]] std::string left_behind_sentence(int64_t processes, const std::optional<std::string>& libtorch_dir);

}  // namespace pbprobe
