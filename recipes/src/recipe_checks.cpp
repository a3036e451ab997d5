// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "recipes/src/verify.hpp"

namespace pbprobe {
namespace {

constexpr auto kChecks = std::to_array<RecipeCheck>({
    {.id = "PB401", .remedy = "name it pytorch-python313-LINE-SM-ISA, as `pbprobe recipes list` has it, or remove it"},
    {.id = "PB402", .remedy = "remove the recipe: no machine can run it"},
    {.id = "PB403", .remedy = "set pname to what `pbprobe recipes show` prints"},
    {.id = "PB404", .remedy = "pin nixpkgs to the commit of the recipe's line in the matrix, and to no other"},
    {.id = "PB405",
     .severity = Severity::warn,
     .remedy = "run `pbprobe recipes lock --fill` on a machine with a network"},
    {.id = "PB406", .remedy = "take the hash from recipes/matrix.json; an empty or made-up one stops the build"},
    {.id = "PB407",
     .remedy =
         "add the overlay (final: prev: { cudaPackages = final.cudaPackages_X_Y; }) of the line, and no other CUDA"},
    {.id = "PB408", .remedy = "add the line's patch by its name, as an overlay on the package that it patches"},
    {.id = "PB409", .remedy = "leave MAGMA in, with the line's patch: linear algebra on the GPU needs it"},
    {.id = "PB410", .remedy = "set version and source together, by an overlay on pythonPackagesExtensions"},
    {.id = "PB411", .remedy = "write the capability with a dot and without sm_, as in 12.1"},
    {.id = "PB412", .remedy = "write only the digits of the SM in gpuArchNum, as in 121"},
    {.id = "PB413", .remedy = "take the CPU flags from `pbprobe recipes show`"},
    {.id = "PB414", .remedy = "list in meta.platforms the one platform that has both the SM and the ISA"},
    {.id = "PB415", .severity = Severity::warn, .remedy = "correct the description"},
    {.id = "PB416",
     .severity = Severity::warn,
     .remedy =
         "this package builds through setup.py: export USE_*, CMAKE_*, CUDAFLAGS, CXXFLAGS or PYTORCH_BUILD_VERSION"},
    {.id = "PB417",
     .remedy =
         "drop them by drop_patches in recipes/matrix.json, which puts a stub in their place: else CUDA is not found"},
    {.id = "PB418",
     .remedy = "pass gpuTargets = [ gpuArchSM ] to torch.override: preConfigure overwrites the attribute"},
    {.id = "PB419",
     .remedy = "use an overlay on cudaPackages: an override leaves MAGMA on the old CUDA, and refuses new SMs"},
    {.id = "PB420",
     .remedy = "use pythonPackagesExtensions: an override of python3Packages leaves other packages on the old torch"},
    {.id = "PB421", .remedy = "override torch's meta: allowBroken hides every other reason"},
    {.id = "PB422", .remedy = "see docs/variants.md for what to write"},
    {.id = "PB423", .remedy = "write $NIX_BUILD_TOP"},
    {.id = "PB424",
     .remedy = "pass `inherit system;`: without it an aarch64 recipe silently gives an x86-64 derivation"},
    {.id = "PB425", .remedy = "set the variables that `pbprobe recipes show` prints"},
    {.id = "PB426",
     .severity = Severity::warn,
     .remedy = "write in the README the number of recipes that the folder has"},
    {.id = "PB427", .remedy = "fix the error that Nix reports: nixpkgs would refuse the recipe too"},
    {.id = "PB428", .remedy = "compare the recipe with what `pbprobe recipes write` writes"},
    {.id = "PB429",
     .severity = Severity::note,
     .remedy = "the recipe uses what pbprobe's stand-in for nixpkgs lacks: evaluate the recipe in nixpkgs itself"},
});

}  // namespace

std::span<const RecipeCheck> recipe_checks() {
  return kChecks;
}

Finding make_recipe_finding(std::string_view id, std::string what, std::string where) {
  const auto check = std::ranges::find_if(kChecks, [&](const auto& c) { return c.id == id; });
  return {.id = std::string(id),
          .subject = Subject::recipe,
          .severity = check->severity,
          .level = Level::claimed,
          .what = std::move(what),
          .where = std::move(where),
          .remedy = std::string(check->remedy)};
}

}  // namespace pbprobe
