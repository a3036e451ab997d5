// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks for documents that people write: misspelled keys are rejected.
#pragma once

#include <optional>
#include <string>

#include "core/json.hpp"

namespace pbprobe {

// Returns the path of a key in `given` that is missing in `known`, the same document after parsing and writing:
// "files[0].sm".
[[nodiscard]] std::optional<std::string> unknown_key(const Json& given, const Json& known);

// Makes `schema` reject unknown keys.
void allow_no_other_keys(Json& schema);

}  // namespace pbprobe
