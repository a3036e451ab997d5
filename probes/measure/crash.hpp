// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Where a worker died: the instruction, before the process ends by its signal as it would have.
#pragma once

#include "probes/measure/events.hpp"

namespace pbprobe {

// From here on SIGILL, SIGSEGV, SIGBUS and SIGFPE write {"crash": {…}} to the events' descriptor first.
void report_crashes(const EventWriter& events);

}  // namespace pbprobe
