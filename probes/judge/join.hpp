// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// One gate of several: a build that was judged on more than one machine.
#pragma once

#include <optional>
#include <vector>

#include "core/facts/gate.hpp"

namespace pbprobe {

// Each claim has the highest level that one gate proved; what one of them objects to stands against all. `require`: the
// level that SMs and ISAs must reach together; null: the highest that one of the gates required. The gates are of the
// same claim and the same artifact.
[[nodiscard]] Gate join_gates(const std::vector<Gate>& gates, std::optional<Level> require);

}  // namespace pbprobe
