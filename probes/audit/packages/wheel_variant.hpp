// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// variant.json of a wheel variant (PEP 817 and PEP 825, drafts).
#pragma once

#include <string>
#include <string_view>

#include "core/facts/inventory.hpp"
#include "core/result.hpp"

namespace pbprobe {

inline const std::string kVariantFile = "variant.json";

// Errors: malformed; also where it holds another number of variants than one, as only an index does.
[[nodiscard]] Result<WheelVariant> parse_variant_json(std::string_view text);

}  // namespace pbprobe
