// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Decision of a gate, rendered as text.
#pragma once

#include <string>

#include "probes/report/text.hpp"

namespace pbprobe {

// Renders the verdict and all objections; with `explain`, each check too. Returns "" without a verdict.
[[nodiscard]] std::string render_gate(const Report& report, bool explain, const TextOptions& options = {});

}  // namespace pbprobe
