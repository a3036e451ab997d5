// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// One verdict of several: a build that was judged on more than one machine.
#pragma once

#include <optional>
#include <vector>

#include "core/facts/verdict.hpp"

namespace pbprobe {

// Each claim has the highest level that one verdict proved; what one of them objects to stands against all. `require`:
// the level that SMs and ISAs must reach together; null: the highest that one of them required. The verdicts are of
// strict policies, the same claim and the same artifact.
[[nodiscard]] Verdict join_verdicts(const std::vector<Verdict>& verdicts, std::optional<Level> require);

}  // namespace pbprobe
