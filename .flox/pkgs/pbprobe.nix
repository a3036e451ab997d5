# Written by `pbprobe recipes write` from recipes/matrix.json: change it there. [9c588b54dbfe6ca0]
# pbprobe itself, against the torch of the nixpkgs that flox gives.
{ pkgs }:

import ../../recipes/nix/pbprobe.nix {
  inherit pkgs;
  torch = pkgs.python313Packages.torch;
  python = pkgs.python313;
}
