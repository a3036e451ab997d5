// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/imports.hpp"

#include <string_view>
#include <system_error>

#include "recipes/src/recipe_head.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTorch =
#include "torch_nix.inc"
    ;
constexpr std::string_view kCuda =
#include "cuda_nix.inc"
    ;
constexpr std::string_view kPin =
#include "nixpkgs_nix.inc"
    ;

}  // namespace

RecipeImports imports_for(const fs::path& folder) {
  std::error_code code;
  auto whole = fs::weakly_canonical(fs::absolute(folder, code), code);
  if (!whole.has_filename()) whole = whole.parent_path();
  const bool of_flox = whole.filename() == "pkgs" && whole.parent_path().filename() == ".flox";
  const auto checkout = whole.parent_path().parent_path();
  // Only a checkout has the matrix and the recipe of pbprobe.
  if (fs::exists(checkout / "recipes/matrix.json", code) && fs::exists(checkout / "recipes/nix/pbprobe.nix", code))
    return {};
  return {of_flox ? "../../recipes/nix" : "./recipes/nix", true};
}

std::vector<GeneratedFile> imported_files(const RecipeImports& imports) {
  if (!imports.written) return {};
  std::vector<GeneratedFile> files;
  for (const auto& [name, text] :
       {std::pair{"torch.nix", kTorch}, std::pair{"cuda.nix", kCuda}, std::pair{"nixpkgs.nix", kPin}})
    files.push_back({fs::path(imports.path + "/" + name).lexically_normal().string(), with_head(text)});
  return files;
}

}  // namespace pbprobe
