# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# One package of the pinned CUDA set under its own name, as the recipes use it.
{
  name, # "cudnn-13_0"
  attribute, # "cudnn"
  cudaPackages, # attribute of the set in nixpkgs
  nixpkgs, # { rev, hash }
  system,
}:
let
  pkgs = import (import ./nixpkgs.nix nixpkgs) {
    inherit system;
    config = {
      allowUnfree = true;
      cudaSupport = true;
    };
    overlays = [ (final: prev: { cudaPackages = final.${cudaPackages}; }) ];
  };
in
pkgs.cudaPackages.${attribute}
  or (throw "${name}: ${cudaPackages} of nixpkgs ${nixpkgs.rev} has no ${attribute}")
