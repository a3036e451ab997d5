# Written by `pbprobe recipes write` from recipes/matrix.json: change it there. [2b8005ed6836c5ee]
# PyTorch 2.10.0 without CUDA for avx2 (Haswell (2013), Zen 1 (2017)).
{
  system ? builtins.currentSystem,
  blasProvider ? "openblas", # or "mkl"
}:

let
  pname = "pytorch210-python313-cpu-avx2";
  version = "2.10.0";

  # Haswell (2013), Zen 1 (2017)
  cpuFlags = [
    "-mavx2"
    "-mfma"
    "-mf16c"
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
  platforms = [ "x86_64-linux" ];
  description = "PyTorch 2.10.0 without CUDA for avx2 (Haswell (2013), Zen 1 (2017))";
  longDescription = ''
    CPU: avx2, fma, f16c.
  '';
  claim = "pytorch-python313-cpu-avx2";
}
