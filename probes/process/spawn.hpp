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
  double grace_seconds = 5;        // added to the request's time limit, after which the supervisor is abandoned
  size_t output_bytes = 16 << 10;  // kept output of foreign code: the last bytes
  size_t answer_bytes = 64 << 20;  // maximum size of all events
  int64_t processes = 512;         // maximum number of processes at a time
  int64_t memory_bytes = 0;        // limit of resident memory of all processes; 0: four fifths of the machine's memory
  std::vector<std::string> program;  // program and leading arguments; empty for this program. "measure --request-fd N
                                     // --result-fd M" is appended
  std::function<void(std::string_view doing)> progress;  // called when the child begins a step
};

// Returns the request without libtorch. Other peers remain.
[[nodiscard]] MeasureRequest without_libtorch(MeasureRequest request);

// A libtorch that crashes, hangs or cannot be loaded is an answer (`libtorch.problem`), and our kernels are then
// measured without it. Errors: usage (the request is wrong), failed_child (the program could not be started, or gave
// no answer at all), limit (its answer was too large).
[[nodiscard]] Result<Measurements> measure_in_child(const MeasureRequest& request, const ChildLimits& limits = {});

}  // namespace pbprobe
