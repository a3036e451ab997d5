// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Recipes import functions of recipes/nix. In a checkout of pbprobe they are there; any other folder gets them.
#pragma once

#include <filesystem>

#include "recipes/src/write.hpp"

namespace pbprobe {

// For the folder that recipes are written to. flox takes each .nix file under .flox/pkgs for a package, so there they
// lie beside .flox, and otherwise below the folder itself.
[[nodiscard]] RecipeImports imports_for(const std::filesystem::path& folder);

// What has to be written besides the recipes, by its path from their folder.
[[nodiscard]] std::vector<GeneratedFile> imported_files(const RecipeImports& imports);

}  // namespace pbprobe
