// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Evaluates recipes with Nix in the stand-in nixpkgs (recipes/nix/stand-in), which the program embeds, and compares
// them with the matrix. Finds errors that line patterns cannot see. Needs neither network nor daemon, and builds
// nothing.
#pragma once

#include <filesystem>
#include <vector>

#include "core/facts/finding.hpp"
#include "core/result.hpp"
#include "recipes/src/matrix.hpp"

namespace pbprobe {

struct Evaluation {
  size_t evaluated = 0;  // evaluated variants of the folder
  std::vector<Finding> findings;
};

// Evaluates every recipe of the folder that is named like a variant. Errors: unsupported (no nix-instantiate),
// unreadable (no temporary folder), not_found (no such folder).
[[nodiscard]] Result<Evaluation> evaluate_folder(const std::filesystem::path& folder, const Matrix& m = matrix());

}  // namespace pbprobe
