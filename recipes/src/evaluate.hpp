// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What line patterns cannot see: recipes evaluated by Nix in the stand-in nixpkgs (recipes/nix/stand-in), which this
// program carries, and compared with the matrix. Neither network nor daemon; nothing is built.
#pragma once

#include <filesystem>
#include <vector>

#include "core/facts/finding.hpp"
#include "core/result.hpp"
#include "recipes/src/matrix.hpp"

namespace pbprobe {

struct Evaluation {
  size_t evaluated = 0;  // of the variants in the folder
  std::vector<Finding> findings;
};

// Every recipe of the folder whose name is a variant's. Errors: unsupported (no nix-instantiate), unreadable (no
// temporary folder), not_found (no such folder).
[[nodiscard]] Result<Evaluation> evaluate_folder(const std::filesystem::path& folder, const Matrix& m = matrix());

}  // namespace pbprobe
