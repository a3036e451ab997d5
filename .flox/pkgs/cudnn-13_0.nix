# Written by `pbprobe recipes write` from recipes/matrix.json: change it there. [bb3de32c30cd973d]
# cudnn of CUDA 13.0, as the recipes use it.
{ system ? builtins.currentSystem }:

import ../../recipes/nix/cuda.nix {
  inherit system;
  name = "cudnn-13_0";
  attribute = "cudnn";
  cudaPackages = "cudaPackages_13_0";
  nixpkgs = {
    rev = "6a030d535719c5190187c4cec156f335e95e3211";
    hash = null;
  };
}
