// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Applies waivers: each excuses the findings of one check in one place, until a day. Any other waiver is an objection.
#pragma once

#include <string>
#include <vector>

#include "core/facts/verdict.hpp"

namespace pbprobe {

// Marks the excused findings, and returns the state of each waiver.
[[nodiscard]] std::vector<WaiverUse> apply_waivers(const std::vector<Waiver>& waivers, const std::string& date,
                                                   std::vector<Finding>& findings);

// Returns the objection to a waiver that was not used.
[[nodiscard]] Objection make_waiver_objection(const WaiverUse& use);

}  // namespace pbprobe
