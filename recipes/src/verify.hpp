// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks that the recipes of a folder match their file names. Line patterns read recipes of any origin; evaluation by
// Nix (evaluate.hpp) finds the other errors.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/finding.hpp"
#include "core/result.hpp"
#include "recipes/src/matrix.hpp"

namespace pbprobe {

// Check of recipes, PB4xx in the catalogue. An id is stable, and never reused for another check.
struct RecipeCheck {
  std::string_view id;
  Severity severity = Severity::fail;
  std::string_view remedy;
};

// Returns the checks in the order of their ids.
[[nodiscard]] std::span<const RecipeCheck> recipe_checks();

// Makes the finding of check `id` at `where`: "FILE" or "FILE:LINE".
[[nodiscard]] Finding make_recipe_finding(std::string_view id, std::string what, std::string where);

struct Verified {
  SCHEMA("pbprobe.recipes-verified/1");
  FIELD(size_t, recipes) = 0;
  FIELD(std::optional<size_t>, evaluated, "recipes evaluated by Nix; null if not requested or Nix is missing");
  FIELD(std::vector<Finding>, findings);  // ordered by file and line
};

// Checks one recipe. The file name in `path`, without .nix, is the expected variant.
[[nodiscard]] std::vector<Finding> verify_recipe(std::string_view path, std::string_view text,
                                                 const Matrix& m = matrix());

// Checks the counts of variants in a README against the number of recipes.
[[nodiscard]] std::vector<Finding> verify_counts(std::string_view path, std::string_view text, size_t recipes,
                                                 const Matrix& m = matrix());

// Checks every pytorch*.nix of the folder, and the READMEs of the folder and of its two parents. Errors: not_found (no
// folder, or no recipe in it), unreadable.
[[nodiscard]] Result<Verified> verify_folder(const std::filesystem::path& folder, const Matrix& m = matrix());

[[nodiscard]] bool has_failures(const Verified& verified);
[[nodiscard]] std::string render_verified(const Verified& verified);

}  // namespace pbprobe
