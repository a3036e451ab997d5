// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The verdict as GitHub-flavoured Markdown: for job summaries and issues.
#pragma once

#include <string>

#include "core/facts/comparison.hpp"
#include "core/facts/report.hpp"

namespace pbprobe {

// Renders verdict, reason, fix, claims and objections. Escapes names from the artifact, so that they cannot become
// markup. Returns "" without a verdict.
[[nodiscard]] std::string render_markdown(const Report& report);

// Renders the changes of each comparison, then the figures that differ.
[[nodiscard]] std::string render_markdown(const ComparisonList& list);

}  // namespace pbprobe
