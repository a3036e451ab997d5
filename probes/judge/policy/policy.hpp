// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Reads policies. What a policy misspells would ask for less than was meant, so that every word of it must be known.
#pragma once

#include <string_view>

#include "core/facts/json.hpp"
#include "core/facts/policy.hpp"
#include "core/result.hpp"

namespace pbprobe {

// Errors: malformed, naming the key: one that is missing, unknown or of another type, a check that the catalogue does
// not have, a date that is none, a waiver without a reason.
[[nodiscard]] Result<Policy> parse_policy(std::string_view text);

// ci/policies/NAME.json as it was built in: report (the lenient one), builder, hardware. Errors: usage.
[[nodiscard]] Result<Policy> built_in_policy(std::string_view name);

// docs/policy.schema.json, which allows no other keys.
[[nodiscard]] Json policy_schema();

}  // namespace pbprobe
