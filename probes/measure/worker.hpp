// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#pragma once

#include "probes/process/events.hpp"
#include "probes/process/request.hpp"

namespace pbprobe {

// Does what the request asks in this process, and writes each fact at once. False: the request was refused. Sets
// environment variables and may load a foreign libtorch: for a child process only.
[[nodiscard]] bool run_request(const MeasureRequest& request, EventWriter& events);

}  // namespace pbprobe
