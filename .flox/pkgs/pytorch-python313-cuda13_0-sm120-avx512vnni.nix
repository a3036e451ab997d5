# Written by `pbprobe recipes write` from recipes/matrix.json: change it there. [6fddc96d1d0af307]
# PyTorch 2.10.0 with CUDA 13.0 for SM120 (RTX 5090, RTX 5080, RTX PRO 6000) and avx512vnni.
{
  system ? builtins.currentSystem,
  cudaToolkitRepo ? builtins.getEnv "CUDA_TOOLKIT_REPO", # a checkout with CUDA packages of its own
  blasProvider ? "openblas", # or "mkl"
}:

let
  pname = "pytorch210-python313-cuda13_0-sm120-avx512vnni";
  version = "2.10.0";

  # RTX 5090, RTX 5080, RTX PRO 6000
  gpuArchNum = "120";
  gpuArchSM = "12.0";

  # Cascade Lake (2019), Ice Lake, Zen 4 (2022)
  cpuFlags = [
    "-mavx512f"
    "-mavx512dq"
    "-mavx512vl"
    "-mavx512bw"
    "-mavx512vnni"
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
      # CUDA 13.0 for the whole set: torch, MAGMA and NCCL
      (final: prev: { cudaPackages = final.cudaPackages_13_0; })
      # magma: CUDA 13 has no cudaDeviceProp.clockRate
      (final: prev: {
        magma = patchOnce prev.magma (
          final.fetchpatch {
            name = "cuda-13.0-clockrate-fix.patch";
            url = "https://github.com/icl-utk-edu/magma/commit/235aefb7b064954fce09d035c69907ba8a87cbcd.patch";
            hash = "sha256-i9InbxD5HtfonB/GyF9nQhFmok3jZ73RxGcIciGBGvU=";
          }
        );
      })
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
    gpuArchNum
    gpuArchSM
    cudaToolkitRepo
    cpuFlags
    nixpkgs
    overlays
    blasProvider
    ;
  python = "313";
  cuda = "13.0";
  driver = 580;
  cudaComponents = {
    cudatoolkit = "cudatoolkit-13_0";
    cudnn = "cudnn-13_0";
    nccl = "nccl-13_0";
    libcusparse_lt = "libcusparse_lt-13_0";
  };
  platforms = [ "x86_64-linux" ];
  description = "PyTorch 2.10.0 with CUDA 13.0 for SM120 (RTX 5090, RTX 5080, RTX PRO 6000) and avx512vnni";
  longDescription = ''
    CUDA 13.0; driver 580 or later.
    CPU: avx512f, avx512dq, avx512vl, avx512bw, fma, avx512_vnni.
    Note: sm120: its a and f cubins add block-scaled FP4 and FP8 only.
    Note: avx512vnni: Skylake-SP lacks it.
  '';
  claim = "pytorch-python313-cuda13_0-sm120-avx512vnni";
}
