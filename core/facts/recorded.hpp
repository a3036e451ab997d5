// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace pbprobe {

// Begins the problem of a report on a machine that is only a file here (`--host`).
inline constexpr std::string_view kRecordedMachine = "this machine is a record";

}  // namespace pbprobe
