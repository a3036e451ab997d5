// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Libraries of an environment that are missing or not as installed, and the modules that do not load because of them.
#pragma once

#include "core/facts/report.hpp"

namespace pbprobe {

// Reports whether a changed or missing library of any package explains why this module of `row` does not load: the
// module lacks this library, a symbol version of it, or a symbol of it.
[[nodiscard]] bool is_explained_by_change(const Report& report, const Distribution& row, const Finding& finding);

}  // namespace pbprobe
