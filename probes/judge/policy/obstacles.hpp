// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What could not run is unknown, and says who held the GPU, what was free, and the way out.
#pragma once

#include <string>

#include "core/obstacle.hpp"
#include "probes/judge/checks.hpp"
#include "probes/judge/facts.hpp"

namespace pbprobe {

// Reports whether libtorch was not started because it has no C shims: torch before 2.8. That is not a fault of the
// build.
[[nodiscard]] bool was_only_read(const Facts& facts);

// `device`: "cuda:0", or empty for the CPU.
[[nodiscard]] Seen could_not_run(const Facts& facts, const std::string& what, Obstacle why, const std::string& device);

// The same of libtorch as a whole, whose problem has an obstacle.
[[nodiscard]] Seen libtorch_could_not_run(const Facts& facts);

// Figures that were taken while others used the GPU.
[[nodiscard]] Seen disturbed_by(const std::string& who);

}  // namespace pbprobe
