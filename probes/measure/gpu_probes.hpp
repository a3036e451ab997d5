// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What each kind of GPU here gives alone: its memories, its launches, and the rate and truth of its instructions. They
// are the ceilings that products are held against.
#pragma once

#include "core/facts/host.hpp"
#include "probes/measure/events.hpp"

namespace pbprobe {

// Writes one figure an event; what cannot be asked, and an instruction with wrong bits, is a problem.
void probe_gpus(const Host& host, EventWriter& events);

}  // namespace pbprobe
