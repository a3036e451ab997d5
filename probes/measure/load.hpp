// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The hidden subcommand `pbprobe load`: opens shared objects one after the other and says how far it came. With an
// emulator it starts itself in it, in a sandbox, and says how that ended; another program likewise.
#pragma once

#include <string>
#include <vector>

namespace pbprobe {

struct LoadRequest {
  std::vector<std::string> emulator;  // words that start this program in it; empty: the files are opened here
  std::vector<std::string> files;
  std::vector<std::string> start;  // a program with its arguments, instead of opening files; empty: none
  std::string writable;            // of `start`: the one folder that it may write to, beside devices
  unsigned seconds = 60;           // then it is ended
};

// Lines on standard output: "open FILE" before each, then "opened" or "refused WHY"; with an emulator or a program the
// last one is "ended by signal N", "ended with N", "ended at the limit", "ended for its memory" or "not confined WHY".
// Returns 0 once it has reported so.
[[nodiscard]] int load_main(const LoadRequest& request);

}  // namespace pbprobe
