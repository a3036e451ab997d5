# Written by `pbprobe recipes write` from recipes/matrix.json: change it there. [ef0fd3e8dad0c521]
# PyTorch 2.10.0 without CUDA for armv9 (Neoverse V2 (Grace, Graviton4), Neoverse N2, Cortex-X2 and later, GB10 (Cortex-X925, Cortex-A725)).
{
  system ? builtins.currentSystem,
  blasProvider ? "openblas", # or "mkl"
}:

let
  pname = "pytorch210-python313-cpu-armv9";
  version = "2.10.0";

  # Neoverse V2 (Grace, Graviton4), Neoverse N2, Cortex-X2 and later, GB10 (Cortex-X925, Cortex-A725)
  cpuFlags = [
    "-march=armv9-a+sve2"
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
  description = "PyTorch 2.10.0 without CUDA for armv9 (Neoverse V2 (Grace, Graviton4), Neoverse N2, Cortex-X2 and later, GB10 (Cortex-X925, Cortex-A725))";
  longDescription = ''
    CPU: sve2.
    Note: armv9: Graviton3 (Neoverse V1) has SVE but no SVE2; -march=armv9-a enables neither bf16 nor i8mm.
  '';
  claim = "pytorch-python313-cpu-armv9";
}
