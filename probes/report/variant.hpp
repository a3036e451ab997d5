// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// variant.json of a wheel variant (PEP 817 and PEP 825, drafts), as variantlib reads it.
#pragma once

#include <string>

#include "core/facts/wheel_variant.hpp"

namespace pbprobe {

[[nodiscard]] std::string variant_json(const WheelVariant& variant);

}  // namespace pbprobe
