# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# pbprobe for one torch: the compiler, SM and ISA of this torch, and its outputs. tests/recipes/split_libtorch.py makes the
# same CMake call in CI.
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
  # NVRTC compiles SMs that nvcc dropped.
  byNvrtc = builtins.any (t: t.compiler == "nvrtc") sm;
  parts = builtins.fromJSON (builtins.readFile ./pbprobe_source.json);
in
pkgs.stdenv.mkDerivation {
  pname = "pbprobe-for-${torch.pname}";
  version = builtins.head (
    builtins.match ".*project\\(pbprobe VERSION ([0-9.]+).*" (builtins.readFile ../../CMakeLists.txt)
  );
  # All files that the build, its check and its installation read (recipes.split_libtorch builds from them too).
  src = builtins.path {
    path = ../..;
    name = "pbprobe";
    filter =
      path: _:
      let
        relative = lib.removePrefix (toString ../.. + "/") (toString path);
      in
      # Outputs of builds, not inputs.
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
  # Omit torch: its headers contain another fmt.
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
    # Do not optimize tests: this would take longer than running them.
    "-DPBPROBE_TEST_FLAGS=-O0"
    # Skip tests that a sandbox cannot run: Python tests (kernels.labels needs pytest), recipes, cross compilers.
    "-DPBPROBE_TEST_ROOMS=core;kernels"
    "-DPBPROBE_BUILD_PYTHON=ON"
    "-DPBPROBE_PYTHON_DESTINATION=${python.sitePackages}/pbprobe"
    # This folder has a copy of include from the dev output, and a link to the lib output.
    "-DPBPROBE_TORCH=${torch}/${python.sitePackages}/torch"
    "-DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON"
  ]
  ++ lib.optionals byNvrtc [
    "-DPBPROBE_NVRTC=${lib.getLib pkgs.cudaPackages.cuda_nvrtc}/lib/libnvrtc.so.12"
  ];
  # Build the installed files and the tests for the sandbox.
  buildPhase = ''
    runHook preBuild
    ninja -j "$NIX_BUILD_CORES" pbprobe pbprobe_manual pbprobe_python pbprobe_unit_tests
    runHook postBuild
  '';
  # In nativeInstallCheckInputs of another package, this hook gates the wheels of that package.
  setupHook = ./check-hook.sh;
  doCheck = true;
  checkPhase = ''
    runHook preCheck
    ctest --output-on-failure --no-tests=error --parallel "$NIX_BUILD_CORES" -L '^unit$' -E '^kernels\.labels$'
    runHook postCheck
  '';
  # The Python package starts the program in bin.
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
