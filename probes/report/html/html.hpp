// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The documents as pages: one file each, under 500 KB, that fetches nothing and needs no script.
#pragma once

#include <string>

#include "core/facts/comparison.hpp"
#include "core/facts/environment.hpp"
#include "core/facts/report.hpp"

namespace pbprobe {

// Of `pbprobe report` and `gate`: the verdict, what follows from it, figures, the build, the machine.
[[nodiscard]] std::string html_of(const Report& report);
// Of `pbprobe bench`.
[[nodiscard]] std::string html_of(const Measurements& measurements);
// Of `pbprobe compare`.
[[nodiscard]] std::string html_of(const ComparisonList& list);
// Of `pbprobe audit` of many packages.
[[nodiscard]] std::string html_of(const Environment& environment);

}  // namespace pbprobe
