# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Inputs that let the stand-in nixpkgs build: the compilers of the machine, and packages whose outputs contain files of
# Debian and PyPI. ci/recipe-builds lists the files: Nix sees only paths.
{
  path, # PATH of each builder
  debian, # { x86_64-linux = { root = ""; zstd = "FILE FILE …"; }; }: files of the Debian packages of that name, unpacked below root
  python, # the interpreter
  pybind11, # folder of pybind11 in site-packages
  cuda, # folder of the toolkit
  pytorch, # source that ci/torch-source fetched
  torchHeaders ? null, # include of a torch wheel
  cache ? "", # CCACHE_DIR: keeps compiled objects and cubins of pbprobe between builds
  nvrtc ? null, # last NVRTC that compiles SMs that nvcc dropped
  cmakeFlags ? "", # additional flags, for example for a cache of the machine
  own ? { }, # { x86_64-linux = { VARIABLE = "…"; }; }: settings for compiling pbprobe, so that ccache finds its objects
  missing ? "", # name of a package to omit
}:
let
  # Debian adds one folder level with the name of the architecture.
  fromDebian = root: files: ''
    for file in ${files}; do
      name=''${file#${root}/}
      name=''${name#usr/}
      mkdir -p "$out/$(dirname "$name")"
      cp -P "$file" "$out/$name"
      [[ ! -L $file || $(readlink "$file") != /* ]] || ln -sfn "$(basename "$(readlink "$file")")" "$out/$name"
    done
    for folder in "$out"/include/*-linux-gnu; do
      [ ! -d "$folder" ] || cp -rn "$folder"/. "$out/include/"
    done
  '';
  # Split outputs like nixpkgs: headers in dev, which propagates the libraries.
  fromCuda = headers: libraries: ''
    mkdir -p "$dev/include" "$dev/nix-support" "$out/lib"
    for part in ${headers}; do ln -s ${cuda}/include/$part "$dev/include/"; done
    for part in ${libraries}; do cp -P $part "$out/lib/"; done
    echo "$out" > "$dev/nix-support/propagated"
  '';
  library = name: ''
    mkdir -p "$out/lib"
    echo 'int answer(void) { return 42; }' | $CC -x c -shared -fPIC -Wl,-soname,${name} -o "$out/lib/${name}" -
  '';
  linked = program: ''
    mkdir -p "$out/bin"
    ln -s ${program} "$out/bin/"
  '';
in
rec {
  packagesOf =
    system:
    let
      found = debian.${system} or { root = ""; };
    in
    packages
    // builtins.mapAttrs (_: files: { buildCommand = fromDebian found.root files; }) (removeAttrs found [ "root" ]);

  packages = {
    cmake.buildCommand = "mkdir -p $out/bin; ln -s $(command -v cmake) $(command -v ctest) $out/bin/";
    ninja.buildCommand = "mkdir -p $out/bin; ln -s $(command -v ninja) $out/bin/";
    python3.buildCommand = linked python;
    pybind11.buildCommand = "mkdir $out; cp -r ${pybind11}/include ${pybind11}/share $out/";
    openblas.buildCommand = library "libopenblas.so.0";
    mkl.buildCommand = library "libmkl_rt.so.2";
    cuda_nvcc.buildCommand = linked "${cuda}/bin/nvcc";
    cuda_cccl = {
      outputs = [ "out" "dev" ];
      buildCommand = fromCuda "$(cd ${cuda}/include/cccl && echo cccl/*)" "";
    };
    cuda_nvrtc.buildCommand = if nvrtc == null then "mkdir $out" else "mkdir -p $out/lib; ln -s ${dirOf nvrtc}/* $out/lib/";
    cuda_cudart = {
      outputs = [ "out" "dev" ];
      buildCommand = fromCuda "$(cd ${cuda}/include && ls -d *.h *.hpp crt cooperative_groups)" "${cuda}/lib64/libcudart.so*" + ''
        echo "$version" > "$out/lib/cuda-release.txt"
      '';
    };
  };

  torchVariables = { NVRTC = nvrtc; FATBINARY = "${cuda}/bin/fatbinary"; };

  # Sources of torch that the stand-in compiles, headers that the Debian build generated, and headers of its libraries.
  torchSource =
    system:
    let
      machine = builtins.head (builtins.split "-" system);
      debian = { x86_64 = "amd64"; aarch64 = "arm64"; }.${machine};
      headers = "${pytorch}/${debian}/usr/include";
    in
    ''
      mkdir -p $out/aten/src $out/generated/ATen/core
      cp -r --no-preserve=mode ${pytorch}/source/pytorch-*/c10 $out/
      cp -r --no-preserve=mode ${pytorch}/source/pytorch-*/aten/src/ATen $out/aten/src/
      cp ${headers}/ATen/*.h $out/generated/ATen/
      cp ${headers}/ATen/core/*.h $out/generated/ATen/core/
      cp ${headers}/cpuinfo.h ${headers}/${machine}-linux-gnu/sleef.h $out/generated/
    '';

  # Build files of the stand-in torch; files outside ATen come from the suite of planted faults.
  parts = builtins.path {
    name = "parts";
    path = ../../..;
    filter =
      let
        root = toString ../../.. + "/";
      in
      file: _:
      builtins.any
        (part: (root + part) == file || builtins.substring 0 (builtins.stringLength file + 1) (root + part) == file + "/")
        [
          "recipes/nix/stand-in/torch/CMakeLists.txt"
          "recipes/nix/stand-in/torch/aten.cmake"
          "recipes/nix/stand-in/torch/aten.json"
          "recipes/nix/stand-in/torch/cuda.cmake"
          "recipes/nix/stand-in/torch/names.cmake"
          "recipes/targets.json"
          "cmake/nvrtc.cpp"
          "tests/gate/plain.cpp"
          "tests/audit/planted/unit.cu"
        ];
  };

  builder =
    system: name: attrs:
    let
      target = builtins.head (builtins.split "-" system);
      prefix = if system == builtins.currentSystem then "" else "${target}-linux-gnu-";
      package = (packagesOf system).${attrs.pname or ""} or { };
      compiled = attrs ? src && !(attrs ? dontUseCmakeConfigure) && !(attrs ? buildCommand);
    in
    if missing != "" && (attrs.pname or "") == missing then
      {
        builder = "/bin/sh";
        args = [ "-c" "echo ${missing}: not in this world >&2; exit 1" ];
      }
    else
      {
        builder = "/bin/bash";
        args = [ ./setup.sh ];
        PATH = path;
        CC = "${prefix}gcc";
        CXX = "${prefix}g++";
        worldCmakeFlags = cmakeFlags;
        CCACHE_DIR = cache;
        inherit torchHeaders;
      }
      // (if attrs ? buildCommand || attrs ? src then { } else { buildCommand = "mkdir -p $out"; } // package)
      // (if compiled then { compilerPaths = ./compiler-paths; } // own.${system} or { } else { });
}
