// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Counts the kernels of a package by the code that a GPU gets.
#pragma once

#include "core/facts/environment.hpp"
#include "core/facts/inventory.hpp"
#include "core/major_minor.hpp"
#include "core/sm.hpp"

namespace pbprobe {

// Requires an inventory with the names of all kernels. `driver` is the CUDA version of the driver; nullopt if unknown.
[[nodiscard]] ServedGpu count_gpu_kernels(const Inventory& inventory, const Sm& gpu,
                                          const std::optional<MajorMinor>& driver = std::nullopt);

}  // namespace pbprobe
