// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Recipes import functions of recipes/nix. A checkout of pbprobe has them; pbprobe writes them next to other folders.
#pragma once

#include <filesystem>

#include "recipes/src/write.hpp"

namespace pbprobe {

// Returns the place of the imported functions for a folder of recipes: next to .flox if the folder is .flox/pkgs,
// because flox treats each .nix file there as a package, else below the folder.
[[nodiscard]] RecipeImports imports_for(const std::filesystem::path& folder);

// Returns the files to write in addition to the recipes, with paths relative to the folder of recipes.
[[nodiscard]] std::vector<GeneratedFile> imported_files(const RecipeImports& imports);

}  // namespace pbprobe
