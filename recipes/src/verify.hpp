// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Is a folder of recipes what its files' names say? Only by line patterns, so that it reads anybody's recipes; what
// only Nix can say is left to evaluation (recipes/nix/stand-in).
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

// PB4xx of the catalogue of checks. An id is stable, and never used again for another check.
struct RecipeCheck {
  std::string_view id;
  Severity severity;
  std::string_view question;
  std::string_view remedy;
};

// In the order of their ids.
[[nodiscard]] std::span<const RecipeCheck> recipe_checks();

struct Verified {
  size_t recipes = 0;
  std::optional<size_t> evaluated;  // by Nix; null: not asked, or no Nix here
  std::vector<Finding> findings;    // by file, and by line within it
};

// One recipe; `path` names it, and its last part without .nix is what it has to be.
[[nodiscard]] std::vector<Finding> verify_recipe(std::string_view path, std::string_view text,
                                                 const Matrix& m = matrix());

// Counts of variants in a README, against the recipes that there are.
[[nodiscard]] std::vector<Finding> verify_counts(std::string_view path, std::string_view text, size_t recipes,
                                                 const Matrix& m = matrix());

// Every pytorch*.nix of the folder, and the READMEs of the folder and of the two above it. Errors: not_found (no
// folder, no recipe in it), unreadable.
[[nodiscard]] Result<Verified> verify_folder(const std::filesystem::path& folder, const Matrix& m = matrix());

[[nodiscard]] bool has_failures(const Verified& verified);
[[nodiscard]] std::string render_verified(const Verified& verified);

template <class Visitor, SameAs<Verified> T>
void fields(Visitor& visit, T& verified) {
  visit.constant("schema", "pbprobe.recipes-verified/1");
  visit("recipes", verified.recipes);
  visit("evaluated", verified.evaluated, "by Nix; null: not asked, or no Nix here");
  visit("findings", verified.findings);
}

}  // namespace pbprobe
