// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Joins verdicts on one build from several machines.
#pragma once

#include <optional>
#include <vector>

#include "core/facts/verdict.hpp"

namespace pbprobe {

// Takes the highest proved level of each claim, and the objections of all verdicts. `require`: level that SMs and ISAs
// must reach together; nullopt for the highest required level. Requires at least one verdict, strict policies, and the
// same claim and artifact.
[[nodiscard]] Verdict join_verdicts(const std::vector<Verdict>& verdicts, std::optional<Level> require);

}  // namespace pbprobe
