// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Whether an inventory is of a package that is not torch: what is asked of torch is not asked of it.
#pragma once

#include <string>

#include "core/facts/inventory.hpp"

namespace pbprobe {

// The package of a wheel, or of what was installed of one, that neither calls itself torch nor holds a libtorch. Null:
// it is torch, or nothing says what it is.
[[nodiscard]] const Package* other_package(const Inventory& inventory);

// "xformers 0.0.35", or what its folder says.
[[nodiscard]] std::string name_and_version(const Package& package);

// What a verdict is about: "torch 2.11.0+cu130", "xformers 0.0.35".
[[nodiscard]] std::string subject_of(const std::optional<Inventory>& inventory);

}  // namespace pbprobe
