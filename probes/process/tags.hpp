// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A child and all that descends from it carry a word in their environment, by which they are found when they have left
// its process group and their supervisor is gone, or was emulated and could not adopt them.
#pragma once

#include <cstdint>
#include <string>

namespace pbprobe {

// "PBPROBE_CHILD=4711-1-…", a new one at each call.
[[nodiscard]] std::string new_tag();

// Ends every process that was started with this word in its environment; does not wait longer than the patience for
// them to disappear. Returns how many there were.
[[nodiscard]] int64_t end_tagged(const std::string& tag, double patience_seconds);

// Ends what this process started, tagged or its own child: it is being stopped itself. Returns how many there were.
int64_t end_all_started(double patience_seconds);

}  // namespace pbprobe
