// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Loads of libtorch's files on an emulated CPU of each claimed row. A file that dies needs more features than the row
// has.
#pragma once

#include <filesystem>
#include <vector>

#include "core/facts/claim.hpp"
#include "core/facts/emulated.hpp"

namespace pbprobe {

// Loads libtorch on an emulated CPU for each claimed CPU row; returns nothing without a claimed row. `artifact` as for
// audit(). `program` is the pbprobe to run; empty for this program. Uses one core for some seconds; may run in parallel
// with an audit of the same artifact.
[[nodiscard]] std::vector<EmulatedLoad> load_emulated(const std::filesystem::path& artifact, const Claim& claim,
                                                      const std::filesystem::path& program);

}  // namespace pbprobe
