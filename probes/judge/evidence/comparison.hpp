// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Compares two reports: builds with another version, variant or driver, or two machines.
#pragma once

#include "core/facts/comparison.hpp"
#include "core/facts/report.hpp"

namespace pbprobe {

// Requires an inventory in both, and a verdict on only their files. Reports a figure as shifted if its samples do not
// overlap, the medians differ by 3 %, and chance explains a shift of any figure in at most 5 of 100 comparisons:
// 2 / C(n + m, n) for one figure (E. Lehmann, Nonparametrics, 1975, chapter 1: most extreme rank sum).
[[nodiscard]] Comparison compare_reports(const Report& before, const Report& after);

}  // namespace pbprobe
