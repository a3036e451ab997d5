// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Waivers: each lets through the findings of one check in one place, until a day. One that does anything else stands in
// the way itself.
#pragma once

#include <string>
#include <vector>

#include "core/facts/verdict.hpp"

namespace pbprobe {

// Marks the findings that are let through, and tells what became of each waiver.
[[nodiscard]] std::vector<WaiverUse> apply_waivers(const std::vector<Waiver>& waivers, const std::string& date,
                                                   std::vector<Finding>& findings);

// Why a waiver that was not used stands in the way.
[[nodiscard]] Objection objection_to(const WaiverUse& use);

}  // namespace pbprobe
