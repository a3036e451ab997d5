// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The hidden subcommand `pbprobe load`: opens shared objects in order and reports its progress. With an emulator,
// starts itself or another program in it, in a sandbox, and reports how that ended.
#pragma once

#include <string>
#include <vector>

namespace pbprobe {

struct LoadRequest {
  std::vector<std::string>
      emulator;  // command that starts this program in the emulator; empty to open the files in this process
  std::vector<std::string> files;
  std::vector<std::string> start;  // program with arguments to start instead of opening files
  std::string writable;            // the only folder that `start` may write to, except devices
  unsigned seconds = 60;           // time limit
};

// Prints lines: "open FILE" before each, then "opened" or "refused WHY"; with an emulator or a program the
// last one is "ended by signal N", "ended with N", "ended at the limit", "ended for its memory" or "not confined WHY".
// Returns 0 after a report.
[[nodiscard]] int load_main(const LoadRequest& request);

}  // namespace pbprobe
