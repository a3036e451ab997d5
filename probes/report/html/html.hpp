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

// Renders `pbprobe report` and `gate`: verdict, consequences, figures, build, machine.
[[nodiscard]] std::string render_html(const Report& report);
// Renders `pbprobe bench`.
[[nodiscard]] std::string render_html(const Measurements& measurements);
// Renders `pbprobe compare`.
[[nodiscard]] std::string render_html(const ComparisonList& list);
// Renders `pbprobe audit` for many packages.
[[nodiscard]] std::string render_html(const Environment& environment);

}  // namespace pbprobe
