// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What a GPU gets of a package, kernel by kernel.
#pragma once

#include "core/facts/environment.hpp"
#include "core/facts/inventory.hpp"
#include "core/sm.hpp"

namespace pbprobe {

// The inventory is one with the names of all kernels.
[[nodiscard]] ServedGpu served(const Inventory& inventory, const Sm& gpu);

}  // namespace pbprobe
