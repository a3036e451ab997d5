// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Holds two reports beside each other: of builds with another version, variant or driver, or of two machines.
#pragma once

#include "core/facts/comparison.hpp"
#include "core/facts/report.hpp"

namespace pbprobe {

// Both have an inventory, and a verdict on only their files, which holds what they could claim. A figure's difference
// is shown where every sample of one run lies on one side of every sample of the other, by 3 % or more in the medians,
// and where that would happen by chance, to any of the figures, in 5 of 100 comparisons at most: 2 / C(n + m, n) for
// one. Source: E. Lehmann, Nonparametrics, 1975, chapter 1 (the rank sum's most extreme value).
[[nodiscard]] Comparison compare_reports(const Report& before, const Report& after);

// Something that was lost, or a figure that is slower.
[[nodiscard]] bool has_regressed(const Comparison& comparison);

}  // namespace pbprobe
