// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What a gate decided, as text for people.
#pragma once

#include <string>

#include "probes/report/text.hpp"

namespace pbprobe {

// The verdict and all that stands against it; with `explain` each check as well. Empty without a verdict.
[[nodiscard]] std::string render_gate(const Report& report, bool explain, const TextOptions& options = {});

}  // namespace pbprobe
