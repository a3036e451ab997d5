# Written by `pbprobe recipes write` from recipes/matrix.json: change it there. [d92548c40dbcbb35]
# nccl of CUDA 13.0, as the recipes use it.
{ system ? builtins.currentSystem }:

import ../../recipes/nix/cuda.nix {
  inherit system;
  name = "nccl-13_0";
  attribute = "nccl";
  cudaPackages = "cudaPackages_13_0";
  nixpkgs = {
    rev = "6a030d535719c5190187c4cec156f335e95e3211";
    hash = null;
  };
}
