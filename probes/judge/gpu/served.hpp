// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What a GPU gets of a package, kernel by kernel.
#pragma once

#include "core/facts/environment.hpp"
#include "core/facts/inventory.hpp"
#include "core/major_minor.hpp"
#include "core/sm.hpp"

namespace pbprobe {

// The inventory is one with the names of all kernels. `driver`: the CUDA of the driver that is there; null: not known.
[[nodiscard]] ServedGpu served(const Inventory& inventory, const Sm& gpu,
                               const std::optional<MajorMinor>& driver = std::nullopt);

}  // namespace pbprobe
