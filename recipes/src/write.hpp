// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Writes recipes from the matrix. The same data give the same bytes; CI checks that writing changes nothing.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "recipes/src/variant.hpp"

namespace pbprobe {

struct GeneratedFile {
  std::string name;  // "pytorch-python313-cuda13_0-sm121-armv9.nix"
  std::string text;
};

// Place of recipes/nix for the recipes that import it.
struct RecipeImports {
  std::string path = "../../recipes/nix";
  bool written = false;  // write recipes/nix too: the recipes are outside a checkout of pbprobe
};

// Renders the recipe of one variant.
[[nodiscard]] std::string recipe_text(const Variant& variant, std::string_view blas, const Matrix& m = matrix(),
                                      const RecipeImports& imports = {});

// Choice of recipe_files(): the variants of one line of the matrix, with this Python and BLAS.
struct WriteOptions {
  std::string line;    // id
  std::string python;  // "313"
  std::string blas;    // "openblas"
  RecipeImports imports = {};
};

// Renders the files of a recipe folder, without writing them: the variants and CUDA packages of one line (a torch and a
// CUDA). Adds the recipe of pbprobe in a checkout; elsewhere, the functions that the recipes import. Errors: usage.
[[nodiscard]] Result<std::vector<GeneratedFile>> recipe_files(const WriteOptions& options, const Matrix& m = matrix());

// Difference between a folder and its expected files.
struct Difference {
  enum class Kind {
    missing,
    stale,
    edited,
    surplus
  };  // stale: written from an earlier matrix; edited: changed by hand
  std::string name;
  Kind kind = Kind::missing;
  std::string text;  // removed (-) and added (+) lines
};

// Compares a folder with its expected files. Errors: unreadable.
[[nodiscard]] Result<std::vector<Difference>> compare_recipes(const std::filesystem::path& folder,
                                                              const std::vector<GeneratedFile>& files);

struct Written {
  std::vector<std::string> written;  // names
  std::vector<std::string> removed;
  size_t unchanged = 0;
};

// Writes the expected files into the folder, each file atomically. Without `force`, a recipe that was edited by hand
// stops it before the first change. Errors: usage (edited), unreadable (folder or file).
[[nodiscard]] Result<Written> write_recipes(const std::filesystem::path& folder,
                                            const std::vector<GeneratedFile>& files, bool force);

// Reports whether the text is unchanged since `recipes write` wrote it.
[[nodiscard]] bool is_untouched(std::string_view text);

// Returns the place of the imported functions for a folder of recipes: next to .flox if the folder is .flox/pkgs,
// because flox treats each .nix file there as a package, else below the folder.
[[nodiscard]] RecipeImports find_imports(const std::filesystem::path& folder);

// Returns the files to write in addition to the recipes, with paths relative to the folder of recipes.
[[nodiscard]] std::vector<GeneratedFile> imported_files(const RecipeImports& imports);

// Prepends a comment with the checksum of `body`, by which is_untouched() detects later edits.
[[nodiscard]] std::string add_recipe_head(std::string_view body);

// Writes `text` as a string of Nix.
[[nodiscard]] std::string quote_nix(const std::string& text);

}  // namespace pbprobe
