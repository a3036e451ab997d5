// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// libtorch's files, loaded on an emulated CPU of exactly each claimed row: what dies there needs more than it may.
#pragma once

#include <filesystem>
#include <vector>

#include "core/facts/claim.hpp"
#include "core/facts/emulated.hpp"

namespace pbprobe {

// One for each claimed CPU row; none where none is claimed. `artifact`: as audit() takes it. `program`: this one, or
// what stands for it; empty: this one. Takes a core for some seconds; may run beside an audit of the same artifact.
[[nodiscard]] std::vector<EmulatedLoad> load_emulated(const std::filesystem::path& artifact, const Claim& claim,
                                                      const std::filesystem::path& program);

}  // namespace pbprobe
