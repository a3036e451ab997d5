// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Derives the properties of a wheel variant (PEP 817 and PEP 825, drafts) from a package's files.
#pragma once

#include <string>
#include <vector>

#include "core/facts/inventory.hpp"

namespace pbprobe {

struct DerivedVariant {
  WheelVariant variant;            // labelled "derived"
  std::vector<std::string> notes;  // properties that are insufficient or not stated
};

// Requires an `inventory` with device code and host code.
// Derives the wheel variant (PEP 825) that the contents would satisfy.
[[nodiscard]] DerivedVariant derive_variant(const Inventory& inventory);

}  // namespace pbprobe
