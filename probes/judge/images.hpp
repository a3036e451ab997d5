// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Which device image runs on which GPU: NVIDIA's rules, and what a library as a whole gets from its images.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/facts/inventory.hpp"
#include "core/facts/verdict.hpp"
#include "core/sm.hpp"

namespace pbprobe {

struct ImageChoice {
  GpuImage image = GpuImage::unknown;
  std::optional<std::string> best;  // the image that runs: a cubin's name, or "compute_80" for PTX
  int64_t best_count = 0;
  int64_t units = 0;        // translation units: the largest count of any image
  int64_t exact_count = 0;  // images for exactly this capability, where they are too few to be the library's
  std::optional<std::string> exact;
  bool contested = false;  // whether it runs is told differently by different sources
};

// What a GPU gets from a library: the image that most of its translation units have. A handful of images for exactly
// this chip beside hundreds of others does not make a library native.
[[nodiscard]] ImageChoice choose_image(const DeviceCode& code, const Sm& gpu);

}  // namespace pbprobe
