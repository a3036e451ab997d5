// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The properties of a wheel variant (PEP 817 and PEP 825, drafts) that a package's bytes show.
#pragma once

#include <string>
#include <vector>

#include "core/facts/inventory.hpp"

namespace pbprobe {

struct DerivedVariant {
  WheelVariant variant;            // its label is "derived"
  std::vector<std::string> notes;  // where a property is true and not enough, or is unknown
};

// `inventory`: one whose device code and host code were read.
[[nodiscard]] DerivedVariant variant_of(const Inventory& inventory);

}  // namespace pbprobe
