// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tags of child processes. A child and all its descendants carry a random word in their environment. The word
// identifies them after they left the process group, if their supervisor has ended or could not adopt them (under
// emulation).
#pragma once

#include <cstdint>
#include <string>

namespace pbprobe {

// "PBPROBE_CHILD=4711-1-…", a new one at each call.
[[nodiscard]] std::string new_tag();

// Ends every process with this word in its environment. Waits at most `patience` for their end. Returns their count.
[[nodiscard]] int64_t end_tagged(const std::string& tag, double patience_seconds);

// Ends all children and tagged processes of this process. Call when this process is being stopped. Returns their count.
int64_t end_all_started(double patience_seconds);

}  // namespace pbprobe
