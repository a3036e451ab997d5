// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Describes steps that could not run: the cause, the use of the GPU, and the remedy.
#pragma once

#include <string>

#include "core/obstacle.hpp"
#include "probes/judge/checks.hpp"
#include "probes/judge/facts.hpp"

namespace pbprobe {

// Reports whether pbprobe could only read this libtorch: torch before 2.8 has no C shims, which is no fault of the
// build.
[[nodiscard]] bool was_only_read(const Facts& facts);

// Adds the remedy for `why` to `what`, and the use of `device` ("cuda:0"; empty for the CPU) if this explains `why`.
[[nodiscard]] Seen could_not_run(const Facts& facts, const std::string& what, Obstacle why, const std::string& device);

// Returns why the whole libtorch run failed, with the remedy for its obstacle. Requires facts.run.
[[nodiscard]] Seen describe_failed_run(const Facts& facts);

// Returns why figures are not judged: process `who` used the GPU during the measurement.
[[nodiscard]] Seen report_other_users(const std::string& who);

}  // namespace pbprobe
