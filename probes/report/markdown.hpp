// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The verdict as GitHub-flavoured Markdown: for job summaries and issues.
#pragma once

#include <string>

#include "core/facts/comparison.hpp"
#include "core/facts/report.hpp"

namespace pbprobe {

// Verdict, reason and fix, the claims, then what stands against it. Names from the artifact cannot become markup.
// Empty without a verdict.
[[nodiscard]] std::string markdown_of(const Report& report);

// Of each pair what changed, then the figures that differ.
[[nodiscard]] std::string markdown_of(const ComparisonList& list);

}  // namespace pbprobe
