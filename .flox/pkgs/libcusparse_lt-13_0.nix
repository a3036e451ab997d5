# Written by `pbprobe recipes write` from recipes/matrix.json: change it there. [9ff9c2d4760c9859]
# libcusparse_lt of CUDA 13.0, as the recipes use it.
{ system ? builtins.currentSystem }:

import ../../recipes/nix/cuda.nix {
  inherit system;
  name = "libcusparse_lt-13_0";
  attribute = "libcusparse_lt";
  cudaPackages = "cudaPackages_13_0";
  nixpkgs = {
    rev = "6a030d535719c5190187c4cec156f335e95e3211";
    hash = null;
  };
}
