// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Starts `pbprobe measure` and turns whatever becomes of it into Measurements.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/measurement.hpp"
#include "core/result.hpp"
#include "probes/process/request.hpp"

namespace pbprobe {

struct ChildLimits {
  double grace_seconds = 5;          // beyond the request's limit, after which the supervisor itself is given up
  size_t output_bytes = 16 << 10;    // of what foreign code prints: its last bytes are kept
  size_t answer_bytes = 64 << 20;    // of events
  int64_t processes = 512;           // that it may have at a time
  int64_t memory_bytes = 0;          // resident, of all of them; 0: four fifths of this machine's
  std::vector<std::string> program;  // to start, with leading arguments; empty: this very program. The arguments
                                     // "measure --request-fd N --result-fd M" follow
  std::function<void(std::string_view doing)> progress;  // called as the child begins each thing
};

// The same measurements, without loading a libtorch: what other peers they have stays.
[[nodiscard]] MeasureRequest without_libtorch(MeasureRequest request);

// A libtorch that crashes, hangs or cannot be loaded is an answer (`libtorch.problem`), and our kernels are then
// measured without it. Errors: usage (the request is wrong), failed_child (the program could not be started, or gave
// no answer at all), limit (its answer was too large).
[[nodiscard]] Result<Measurements> measure_in_child(const MeasureRequest& request, const ChildLimits& limits = {});

}  // namespace pbprobe
