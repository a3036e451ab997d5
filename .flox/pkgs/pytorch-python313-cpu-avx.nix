# Written by `pbprobe recipes write` from recipes/matrix.json: change it there. [5d4b1faf94cae7f4]
# PyTorch 2.10.0 without CUDA for avx (Sandy Bridge (2011), Bulldozer (2011)).
{
  system ? builtins.currentSystem,
  blasProvider ? "openblas", # or "mkl"
}:

let
  pname = "pytorch210-python313-cpu-avx";
  version = "2.10.0";

  # Sandy Bridge (2011), Bulldozer (2011)
  cpuFlags = [
    "-mavx"
    "-mno-avx2"
    "-mno-fma"
    "-mno-bmi"
    "-mno-bmi2"
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
  environment = {
    USE_FBGEMM = "0";
    USE_MKLDNN = "0";
    USE_MKLDNN_CBLAS = "0";
    USE_NNPACK = "0";
  };
  platforms = [ "x86_64-linux" ];
  description = "PyTorch 2.10.0 without CUDA for avx (Sandy Bridge (2011), Bulldozer (2011))";
  longDescription = ''
    CPU: avx.
    Note: avx: neither FMA nor BMI: Ivy Bridge has none.
    Note: without FBGEMM, oneDNN and NNPACK, which need AVX2.
  '';
  claim = "pytorch-python313-cpu-avx";
}
