// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Recognizes the inventory of a package other than torch. Checks about torch do not apply to it.
#pragma once

#include <string>

#include "core/facts/inventory.hpp"

namespace pbprobe {

// Returns the package if the inventory is a wheel or an installed wheel that is not named torch and contains no
// libtorch. Returns null for torch, and if the package is not known.
[[nodiscard]] const Package* other_package(const Inventory& inventory);

// Returns "xformers 0.0.35", or the name of its metadata folder if METADATA is missing.
[[nodiscard]] std::string name_and_version(const Package& package);

// Returns the name for the subject of a verdict: "torch 2.11.0+cu130", "xformers 0.0.35".
[[nodiscard]] std::string format_subject(const std::optional<Inventory>& inventory);

}  // namespace pbprobe
