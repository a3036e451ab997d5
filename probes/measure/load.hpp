// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The hidden subcommand `pbprobe load`: opens shared objects one after the other and says how far it came. With an
// emulator it starts itself in it, in a sandbox, and says how that ended.
#pragma once

#include <string>
#include <vector>

namespace pbprobe {

struct LoadRequest {
  std::vector<std::string> emulator;  // words that start this program in it; empty: the files are opened here
  std::vector<std::string> files;
  unsigned seconds = 60;  // then it is ended
};

// Lines on standard output: "open FILE" before each, then "opened" or "refused WHY"; with an emulator the last one is
// "ended by signal N", "ended with N" or "ended at the limit". Returns 0 once it has reported so.
[[nodiscard]] int load_main(const LoadRequest& request);

}  // namespace pbprobe
