// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <array>

#include "recipes/src/verify.hpp"

namespace pbprobe {
namespace {

constexpr Severity kFail = Severity::fail;
constexpr Severity kWarn = Severity::warn;

constexpr auto kChecks = std::to_array<RecipeCheck>({
    {"PB401", kFail, "Is the file's name a variant of the matrix?",
     "name it pytorch-python313-LINE-SM-ISA, as `pbprobe recipes list` has it, or remove it"},
    {"PB402", kFail, "Is there a machine with this SM and this ISA?", "remove the recipe: no machine can run it"},
    {"PB403", kFail, "Does the pname say what the file's name says?",
     "set pname to what `pbprobe recipes show` prints"},
    {"PB404", kFail, "Is nixpkgs pinned to the line's commit?", "set the line's commit, and no other"},
    {"PB405", kWarn, "Is the pin verified by a hash?", "run `pbprobe recipes lock --fill` where there is a network"},
    {"PB406", kFail, "Is every hash one that the matrix knows?",
     "take the hash from recipes/matrix.json; an empty or made-up one stops the build"},
    {"PB407", kFail, "Does the whole package set use the line's CUDA?",
     "add the overlay (final: prev: { cudaPackages = final.cudaPackages_X_Y; }) of the line, and no other CUDA"},
    {"PB408", kFail, "Is the line's patch there?", "add the patch by its name, as an overlay on its package"},
    {"PB409", kFail, "Is MAGMA built?", "leave MAGMA in, with the line's patch: linear algebra on the GPU needs it"},
    {"PB410", kFail, "Is torch the line's version?",
     "set version and source together, by an overlay on pythonPackagesExtensions"},
    {"PB411", kFail, "Is gpuArchSM this SM, as TORCH_CUDA_ARCH_LIST takes it?",
     "write it with a dot and without sm_, as in 12.1"},
    {"PB412", kFail, "Is gpuArchNum this SM's number?", "write only the digits, as in 121"},
    {"PB413", kFail, "Are cpuFlags this ISA's?", "take them from `pbprobe recipes show`"},
    {"PB414", kFail, "Are meta.platforms those of the SM and the ISA?", "list the one platform that has both"},
    {"PB415", kWarn, "Does the description name this CUDA and this SM?", "correct the description"},
    {"PB416", kWarn, "Do the CMake flags reach the build?",
     "this package builds through setup.py: export USE_*, CMAKE_*, CUDAFLAGS, CXXFLAGS or PYTORCH_BUILD_VERSION"},
    {"PB417", kFail, "Are nixpkgs' own patches kept?", "drop patches by name: without them the build finds no CUDA"},
    {"PB418", kFail, "Does the SM reach the build?",
     "pass gpuTargets = [ gpuArchSM ] to torch.override: preConfigure overwrites the attribute"},
    {"PB419", kFail, "Does CUDA come by an overlay?",
     "use an overlay on cudaPackages: an override leaves MAGMA on the old CUDA, and refuses new SMs"},
    {"PB420", kFail, "Does every Python set get the new torch?",
     "use pythonPackagesExtensions: an override of python3Packages leaves the others on the old torch"},
    {"PB421", kFail, "Is broken allowed only for torch?",
     "override torch's meta: allowBroken hides every other reason"},
    {"PB422", kFail, "Does the recipe use what nixpkgs has?", "see docs/variants.md for what to write"},
    {"PB423", kFail, "Does it build in any build folder?", "write $NIX_BUILD_TOP"},
    {"PB424", kFail, "Does an imported nixpkgs know the system?",
     "pass `inherit system;`: without it an aarch64 recipe silently gives an x86-64 derivation"},
    {"PB425", kFail, "Are the parts off that this SM or this ISA cannot run?",
     "set the variables that `pbprobe recipes show` prints"},
    {"PB426", kWarn, "Does the README count correctly?", "write the number of recipes that there are"},
    {"PB427", kFail, "Does Nix evaluate the recipe?", "fix what Nix says: nixpkgs would refuse it too"},
    {"PB428", kFail, "Is what Nix makes of the recipe what its name says?",
     "compare the recipe with what `pbprobe recipes write` writes"},
    {"PB429", Severity::note, "Could the recipe be evaluated here?",
     "it uses what the stand-in nixpkgs does not know: evaluate it in nixpkgs itself"},
});

}  // namespace

std::span<const RecipeCheck> recipe_checks() {
  return kChecks;
}

}  // namespace pbprobe
