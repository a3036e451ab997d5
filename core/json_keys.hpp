// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Documents that people write, in which a misspelled key is refused.
#pragma once

#include <optional>
#include <string>

#include "core/json.hpp"

namespace pbprobe {

// A key of `given` that `known`, the same document written again, does not have: "files[0].sm".
[[nodiscard]] std::optional<std::string> unknown_key(const Json& given, const Json& known);

// Makes a schema refuse it too.
void allow_no_other_keys(Json& schema);

}  // namespace pbprobe
