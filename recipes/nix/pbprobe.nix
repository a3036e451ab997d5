# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# pbprobe built against one torch: its compiler, its SM and ISA, its outputs. tests/recipes/split_libtorch.py makes the same
# CMake call in CI.
{
  pkgs,
  torch,
  python,
  cpuFlags ? [ ],
  gpuArchNum ? null,
}:
let
  inherit (pkgs) lib;
  targets = (builtins.fromJSON (builtins.readFile ../targets.json)).targets;
  sm = builtins.filter (t: t.kind == "gpu" && gpuArchNum != null && t.id == "sm${gpuArchNum}") targets;
  isa = builtins.filter (t: t.kind == "cpu" && t.recipe_flags == cpuFlags) targets;
  wanted = map (t: t.id) (sm ++ isa);
in
pkgs.stdenv.mkDerivation {
  pname = "pbprobe-for-${torch.pname}";
  version = builtins.head (
    builtins.match ".*project\\(pbprobe VERSION ([0-9.]+).*" (builtins.readFile ../../CMakeLists.txt)
  );
  # What the build reads: a document that changes does not rebuild it.
  src = builtins.path {
    path = ../..;
    name = "pbprobe";
    filter =
      path: _:
      let
        relative = lib.removePrefix (toString ../.. + "/") (toString path);
      in
      builtins.any (part: relative == part || lib.hasPrefix (part + "/") relative) [
        "CMakeLists.txt"
        "bindings"
        "cmake"
        "core"
        "kernels"
        "probes"
        "recipes"
        "tests"
      ];
  };
  nativeBuildInputs = [
    pkgs.cmake
    pkgs.ninja
    python
    python.pkgs.pybind11
  ]
  ++ lib.optionals (sm != [ ]) [ pkgs.cudaPackages.cuda_nvcc ];
  buildInputs = [
    pkgs.cli11
    pkgs.fmt
    pkgs.nlohmann_json
    pkgs.gtest
    pkgs.lz4
    pkgs.openssl
    pkgs.zlib
    pkgs.zstd
    pkgs.zydis
    torch
  ];
  cmakeFlags = [
    "-DPBPROBE_TARGETS=${if wanted == [ ] then "cpu" else lib.concatStringsSep "," wanted}"
    "-DPBPROBE_BUILD_TESTS=ON"
    "-DPBPROBE_BUILD_PYTHON=ON"
    # Its include is a copy of the dev output's, its lib a link into the lib output.
    "-DPBPROBE_TORCH=${torch}/${python.sitePackages}/torch"
  ];
  doCheck = true;
  meta = {
    description = "Does this targeted PyTorch build deliver its specialization here?";
    platforms = torch.meta.platforms;
  };
}
