# Written by `pbprobe recipes write` from recipes/matrix.json: change it there. [bb65576f001e60c7]
# PyTorch 2.10.0 without CUDA for avx512 (Skylake-X and Skylake-SP (2017), Zen 4 (2022)).
{
  system ? builtins.currentSystem,
  blasProvider ? "openblas", # or "mkl"
}:

let
  pname = "pytorch210-python313-cpu-avx512";
  version = "2.10.0";

  # Skylake-X and Skylake-SP (2017), Zen 4 (2022)
  cpuFlags = [
    "-mavx512f"
    "-mavx512dq"
    "-mavx512vl"
    "-mavx512bw"
    "-mfma"
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
  description = "PyTorch 2.10.0 without CUDA for avx512 (Skylake-X and Skylake-SP (2017), Zen 4 (2022))";
  longDescription = ''
    CPU: avx512f, avx512dq, avx512vl, avx512bw, fma.
  '';
  claim = "pytorch-python313-cpu-avx512";
}
