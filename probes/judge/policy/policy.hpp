// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Reads policies. A misspelled key would weaken a policy, and so each key must be known.
#pragma once

#include <string_view>

#include "core/facts/json.hpp"
#include "core/facts/policy.hpp"
#include "core/result.hpp"

namespace pbprobe {

// On error, returns `malformed` with the key: missing, unknown or of another type, or with an unknown check, an invalid
// date, or an empty reason.
[[nodiscard]] Result<Policy> parse_policy(std::string_view text);

// Returns the embedded ci/policies/NAME.json: report (lenient), builder or hardware. Fails with `usage` for other
// names.
[[nodiscard]] Result<Policy> built_in_policy(std::string_view name);

// Returns the content of docs/policy.schema.json, which allows no unknown keys.
[[nodiscard]] Json policy_schema();

}  // namespace pbprobe
