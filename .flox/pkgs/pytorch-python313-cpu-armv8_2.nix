# Written by `pbprobe recipes write` from recipes/matrix.json: change it there. [a10f84011d71d1e6]
# PyTorch 2.10.0 without CUDA for armv8_2 (Neoverse N1 (Graviton2, Altra), Cortex-A75, Cortex-A76).
{
  system ? builtins.currentSystem,
  blasProvider ? "openblas", # or "mkl"
}:

let
  pname = "pytorch210-python313-cpu-armv8_2";
  version = "2.10.0";

  # Neoverse N1 (Graviton2, Altra), Cortex-A75, Cortex-A76
  cpuFlags = [
    "-march=armv8.2-a+fp16+dotprod"
  ];

  # hash = null: not verified until `pbprobe recipes lock --fill` has run
  nixpkgs = {
    rev = "6a030d535719c5190187c4cec156f335e95e3211";
    hash = null;
  };

  overlays =
    { patchOnce, upgradeTorch }:
    [
      # torch 2.10.0 in every Python set
      (final: prev: {
        pythonPackagesExtensions = prev.pythonPackagesExtensions ++ [
          (pyfinal: pyprev: {
            torch = upgradeTorch pyprev.torch {
              inherit version;
              dropPatches = false;
              src = final.fetchFromGitHub {
                owner = "pytorch";
                repo = "pytorch";
                tag = "v2.10.0";
                fetchSubmodules = true;
                hash = "sha256-RKiZLHBCneMtZKRgTEuW1K7+Jpi+tx11BMXuS1jC1xQ=";
              };
            };
          })
        ];
      })
    ];
in
import ../../recipes/nix/torch.nix {
  inherit
    pname
    version
    system
    cpuFlags
    nixpkgs
    overlays
    blasProvider
    ;
  python = "313";
  platforms = [ "aarch64-linux" ];
  description = "PyTorch 2.10.0 without CUDA for armv8_2 (Neoverse N1 (Graviton2, Altra), Cortex-A75, Cortex-A76)";
  longDescription = ''
    CPU: asimdhp, asimddp.
  '';
  claim = "pytorch-python313-cpu-armv8_2";
}
