// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// From the images of one file to its facts: counts, bytes, translation units, toolkits, and the census.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/facts/inventory.hpp"
#include "probes/audit/fatbin.hpp"
#include "probes/audit/sass.hpp"

namespace pbprobe {

// What is inside one cubin.
struct ImageFacts {
  std::optional<std::string> toolkit;
  std::optional<CubinCensus> census;
  std::optional<Error> problem;
};

// Decompresses and reads one image, whose stored bytes stand at `offset` of the file `name`. The census only where it
// is asked for.
[[nodiscard]] ImageFacts look_inside(const DeviceImage& image, std::span<const uint8_t> payload,
                                     const std::string& name, uint64_t offset, bool with_census);

// What of a file's images was looked into: facts of images[i] at [i], or nothing.
using InsideFacts = std::vector<std::optional<ImageFacts>>;

// Looks into all cubins (`full`), or into those that are not compressed and the smallest of each SM. Uses spare cores.
[[nodiscard]] InsideFacts look_inside_all(const std::vector<DeviceImage>& images, const Bytes& file, bool full);

// Adds all up. `full`: a census stands there, also of a file without machine code.
[[nodiscard]] DeviceCode add_up(const std::vector<DeviceImage>& images, const InsideFacts& inside, bool full);

// The first problem among them.
[[nodiscard]] std::optional<Error> first_problem(const InsideFacts& inside);

}  // namespace pbprobe
