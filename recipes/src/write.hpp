// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Recipes are written from the matrix: the same data give the same bytes, and CI proves that writing changes nothing.
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

// Where recipes find recipes/nix.
struct RecipeImports {
  std::string path = "../../recipes/nix";
  bool written = false;  // with the recipes: they lie in no checkout of pbprobe
};

// The recipe of one variant.
[[nodiscard]] std::string recipe_text(const Variant& variant, std::string_view blas, const Matrix& m = matrix(),
                                      const RecipeImports& imports = {});

struct WriteOptions {
  std::string line;    // id
  std::string python;  // "313"
  std::string blas;    // "openblas"
  RecipeImports imports = {};
};

// What a line's folder of recipes holds: its variants, its CUDA packages and, in a checkout, pbprobe itself; elsewhere
// what they import. Errors: usage.
[[nodiscard]] Result<std::vector<GeneratedFile>> recipe_files(const WriteOptions& options, const Matrix& m = matrix());

// What differs between a folder and what belongs there.
struct Difference {
  enum class Kind { missing, stale, edited, surplus };  // stale: as some earlier matrix wrote it; edited: by hand
  std::string name;
  Kind kind = Kind::missing;
  std::string text;  // lines taken away (-) and added (+)
};

// Errors: unreadable.
[[nodiscard]] Result<std::vector<Difference>> compare_recipes(const std::filesystem::path& folder,
                                                              const std::vector<GeneratedFile>& files);

struct Written {
  std::vector<std::string> written;  // names
  std::vector<std::string> removed;
  size_t unchanged = 0;
};

// Brings the folder to what belongs there, each file at once or not at all. Without `force` a recipe that was edited by
// hand stops it before the first change. Errors: usage (edited), unreadable (folder or file).
[[nodiscard]] Result<Written> write_recipes(const std::filesystem::path& folder,
                                            const std::vector<GeneratedFile>& files, bool force);

// Is this text as `recipes write` left it?
[[nodiscard]] bool is_untouched(std::string_view text);

}  // namespace pbprobe
