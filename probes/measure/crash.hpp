// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Where a worker died: the instruction, before the process ends by its signal as it would have.
#pragma once

#include "probes/process/channel.hpp"

namespace pbprobe {

// From here on SIGILL, SIGSEGV, SIGBUS and SIGFPE leave {"crash": {…}} in memory that the supervisor shares.
void report_crashes(CrashMessage* words);

}  // namespace pbprobe
