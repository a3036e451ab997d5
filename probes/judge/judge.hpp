// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The judge: facts in, verdict out. It reads nothing and starts nothing, so that a verdict can be computed again from
// its evidence.
#pragma once

#include "core/facts/report.hpp"

namespace pbprobe {

// Judges host, claim, inventory, measurements and problems; a verdict that is already there is ignored. Any finding of
// severity fail fails; else a deciding question without an answer leaves it unknown; else it passes. An inventory
// without a machine (no host, nothing measured, no problem of a step) is judged by its files alone.
[[nodiscard]] Verdict judge(const Report& facts);

}  // namespace pbprobe
