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
  isa = builtins.filter (t: t.kind == "cpu" && cpuFlags != [ ] && t.recipe_flags == cpuFlags) targets;
  wanted = map (t: t.id) (sm ++ isa);
  # SMs that nvcc no longer knows.
  byNvrtc = builtins.any (t: t.compiler == "nvrtc") sm;
  parts = builtins.fromJSON (builtins.readFile ./pbprobe_source.json);
in
pkgs.stdenv.mkDerivation {
  pname = "pbprobe-for-${torch.pname}";
  version = builtins.head (
    builtins.match ".*project\\(pbprobe VERSION ([0-9.]+).*" (builtins.readFile ../../CMakeLists.txt)
  );
  # What the build, its check and its installation read (recipes.split_libtorch builds from them too); nothing else is there.
  src = builtins.path {
    path = ../..;
    name = "pbprobe";
    filter =
      path: _:
      let
        relative = lib.removePrefix (toString ../.. + "/") (toString path);
      in
      # Written of builds: no input of one.
      relative != "docs/matrix.md"
      && builtins.any (part: relative == part || lib.hasPrefix (part + "/") relative) parts;
  };
  nativeBuildInputs = [
    pkgs.cmake
    pkgs.ninja
    python
    python.pkgs.pybind11
  ]
  ++ lib.optionals (sm != [ ]) [ pkgs.cudaPackages.cuda_nvcc ];
  # Not torch itself: among its headers is another fmt.
  buildInputs = [
    pkgs.cli11
    pkgs.fmt
    pkgs.nlohmann_json
    pkgs.gtest
    pkgs.lz4
    pkgs.openssl
    pkgs.zlib
    pkgs.zstd
    pkgs.zycore
    pkgs.zydis
  ]
  ++ lib.optionals (sm != [ ]) [
    pkgs.cudaPackages.cuda_cccl
    pkgs.cudaPackages.cuda_cudart
  ];
  cmakeFlags = [
    "-DPBPROBE_TARGETS=${if wanted == [ ] then "cpu" else lib.concatStringsSep "," wanted}"
    "-DPBPROBE_STATIC=OFF"
    "-DPBPROBE_BUILD_TESTS=ON"
    # Optimizing them takes longer than running them.
    "-DPBPROBE_TEST_FLAGS=-O0"
    # What a sandbox can run: no Python beside the tests (kernels.labels wants pytest), no recipe, no other machine's compiler.
    "-DPBPROBE_TEST_ROOMS=core;kernels"
    "-DPBPROBE_BUILD_PYTHON=ON"
    "-DPBPROBE_PYTHON_DESTINATION=${python.sitePackages}/pbprobe"
    # Its include is a copy of the dev output's, its lib a link into the lib output.
    "-DPBPROBE_TORCH=${torch}/${python.sitePackages}/torch"
    "-DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON"
  ]
  ++ lib.optionals byNvrtc [
    "-DPBPROBE_NVRTC=${lib.getLib pkgs.cudaPackages.cuda_nvrtc}/lib/libnvrtc.so.12"
  ];
  # What is installed, and what a sandbox can check.
  buildPhase = ''
    runHook preBuild
    ninja -j "$NIX_BUILD_CORES" pbprobe pbprobe_manual pbprobe_python pbprobe_unit_tests
    runHook postBuild
  '';
  # In nativeInstallCheckInputs of another package it gates that one's wheels.
  setupHook = ./check-hook.sh;
  doCheck = true;
  checkPhase = ''
    runHook preCheck
    ctest --output-on-failure --no-tests=error --parallel "$NIX_BUILD_CORES" -L '^unit$' -E '^kernels\.labels$'
    runHook postCheck
  '';
  # The package starts the very program of bin.
  postInstall = ''
    ln -sf "$out/bin/pbprobe" "$out/${python.sitePackages}/pbprobe/bin/pbprobe"
    test -s "$out/share/man/man1/pbprobe.1"
  '';
  meta = {
    description = "Does this targeted PyTorch build deliver its specialization here?";
    platforms = torch.meta.platforms;
    mainProgram = "pbprobe";
  };
}
