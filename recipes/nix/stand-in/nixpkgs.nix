# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# A stand-in for nixpkgs that evaluates recipes without a network. It contains only the packages that recipes use, connected
# as in nixpkgs, and refuses the same errors: unknown arguments, unfree and broken packages, foreign systems, SMs that a CUDA
# release does not build, empty hashes. It tests the settings of a recipe, not nixpkgs.
{
  rev,
  torchVersion,
  world ? null, # world.nix builds packages; null only evaluates them
}:
{
  system, # required: nixpkgs would use the evaluating machine, so that an aarch64 recipe silently builds for x86-64
  config ? { },
  overlays ? [ ],
}:
let
  targets = (builtins.fromJSON (builtins.readFile ../../targets.json)).targets;
  lines = (builtins.fromJSON (builtins.readFile ../../matrix.json)).lines;

  lib = rec {
    concatStringsSep = builtins.concatStringsSep;
    optionals = condition: list: if condition then list else [ ];
    optionalString = condition: string: if condition then string else "";
    hasPrefix = prefix: string: builtins.substring 0 (builtins.stringLength prefix) string == prefix;
    removePrefix =
      prefix: string:
      if hasPrefix prefix string then
        builtins.substring (builtins.stringLength prefix) (builtins.stringLength string) string
      else
        string;
    optionalAttrs = condition: attrs: if condition then attrs else { };
    versionAtLeast = a: b: builtins.compareVersions a b >= 0;
    getDev = package: package.dev or package;
    getLib = package: package.lib or package;
    fix = f: let x = f x; in x;
    extends = overlay: f: final: let prev = f final; in prev // overlay final prev;
    setBool = b: if b then "1" else "0";
    unique = builtins.foldl' (seen: x: if builtins.elem x seen then seen else seen ++ [ x ]) [ ];
  };

  refuse = name: why: throw "Package '${name}' ${why}, refusing to evaluate.";

  checked =
    name: meta: value:
    if (meta.broken or false) && !(config.allowBroken or false) then
      refuse name "is marked as broken"
    else if (meta.unfree or false) && !(config.allowUnfree or false) then
      refuse name "has an unfree license"
    else if meta ? platforms && !(builtins.elem system meta.platforms) then
      refuse name "is not available on the requested hostPlatform ${system}"
    else
      value;

  mkDerivation =
    attrs:
    let
      env = attrs.env or { };
      clash = builtins.filter (n: attrs ? ${n}) (builtins.attrNames env);
      name = attrs.name or "${attrs.pname}-${attrs.version}";
      built = if world == null then { builder = "/bin/sh"; } else world.builder system name attrs;
      outputs = attrs.outputs or built.outputs or [ "out" ];
      inputs = builtins.mapAttrs (_: map lib.getDev) (
        builtins.intersectAttrs { buildInputs = null; nativeBuildInputs = null; } attrs
      );
      plain = removeAttrs attrs [ "meta" "passthru" "env" "outputs" ];
      raw =
        if clash != [ ] then
          throw "${name}: The `env` attribute set cannot contain any attributes passed to derivation. The following attributes are overlapping: ${toString clash}"
        else
          derivation (
            plain
            // inputs
            // env
            // built
            // {
              inherit name system outputs;
            }
          );
      meta = attrs.meta or { };
      output = o: {
        inherit name;
        type = "derivation";
        outputName = o;
        outPath = checked name meta raw.${o}.outPath;
        drvPath = checked name meta raw.drvPath;
      };
    in
    attrs
    // (attrs.passthru or { })
    // builtins.listToAttrs (map (o: { name = o; value = output o; }) outputs)
    // output (builtins.head outputs)
    // {
      inherit meta outputs name system;
      passthru = attrs.passthru or { };
      overrideAttrs = f: mkDerivation (attrs // f attrs);
    };

  # `override` refuses arguments that f does not name; overrideAttrs survives a later override.
  makeOverridable =
    f: args:
    f args
    // {
      override = newArgs: makeOverridable f (args // newArgs);
      overrideAttrs = change: makeOverridable (a: (f a).overrideAttrs change) args;
    };

  callWith =
    scope: f: args:
    let
      function = if builtins.isFunction f then f else import f;
    in
    makeOverridable function (builtins.intersectAttrs (builtins.functionArgs function) scope // args);

  simple =
    pname: version: extra:
    mkDerivation ({ inherit pname version; } // extra);

  fetcher =
    name: hash: what:
    if hash == "" || builtins.match "sha256-A{43}=" hash != null then
      throw "${name}: hash mismatch in fixed-output derivation: an empty hash was given"
    else if world != null then
      mkDerivation {
        inherit name;
        buildCommand = ''
          cp -r --no-preserve=mode ${world.parts} $out
          ${world.torchSource system}
          echo 'requires = ["setuptools>=62.3.0,<80.0"]' > $out/pyproject.toml
        '';
        request = builtins.toJSON what;
      }
    else
      mkDerivation {
        inherit name;
        outputHash = hash;
        outputHashMode = "recursive";
        request = builtins.toJSON what;
      };

  gpuTargetOf = capability: builtins.filter (t: t.capability == capability) targets;

  # Refuses the capabilities that the flags of cudaPackages refuse.
  checkCapability =
    cuda: capability:
    let
      found = gpuTargetOf capability;
      target = builtins.head found;
    in
    if found == [ ] then
      throw "Unrecognized CUDA capability ${capability}"
    else if target.first_cuda != null && builtins.compareVersions cuda target.first_cuda < 0 then
      throw "capability ${capability} is too new for CUDA ${cuda}"
    else if target.last_cuda != null && builtins.compareVersions cuda target.last_cuda > 0 then
      throw "capability ${capability} is too old for CUDA ${cuda}"
    else if !(builtins.elem system target.platforms) then
      throw "capability ${capability} does not exist on ${system}"
    else
      capability;

  # nixpkgs treats SM110 as Jetson: without gpuTargets, it finds no SM to build.
  defaultCapabilities =
    cuda:
    map (t: t.capability) (
      builtins.filter (
        t:
        t.kind == "gpu"
        && builtins.elem system t.platforms
        && builtins.length t.platforms > 1
        && (t.first_cuda == null || builtins.compareVersions cuda t.first_cuda >= 0)
        && (t.last_cuda == null || builtins.compareVersions cuda t.last_cuda <= 0)
      ) targets
    );

  cudaSet =
    cuda: final:
    let
      unfree = { meta.unfree = true; };
      scope = self: {
        cudaMajorMinorVersion = cuda;
        flags.cudaCapabilities = map (checkCapability cuda) (config.cudaCapabilities or (defaultCapabilities cuda));
        cudatoolkit = simple "cudatoolkit" cuda unfree;
        cudnn = simple "cudnn" "9.13.0.50-${cuda}" unfree;
        libcusparse_lt = simple "libcusparse_lt" "0.8.1.1-${cuda}" unfree;
        libcublas = simple "libcublas" cuda unfree;
        cuda_nvcc = simple "cuda_nvcc" cuda unfree;
        cuda_cudart = simple "cuda_cudart" cuda unfree;
        cuda_nvrtc = simple "cuda_nvrtc" cuda unfree;
        cuda_cccl = simple "cuda_cccl" cuda (unfree // { outputs = [ "out" "dev" ]; });
        nccl = simple "nccl" "2.28.7-1-${cuda}" { gpuTargets = self.flags.cudaCapabilities; };
        inherit overrideScope;
      };
      overrideScope = overlay: lib.fix (lib.extends overlay scope);
    in
    lib.fix scope;

  magmaPackage =
    { cudaPackages, fetchpatch }:
    mkDerivation {
      pname = "magma";
      version = "2.9.0";
      gpuTargets = cudaPackages.flags.cudaCapabilities;
      toolkit = cudaPackages.cudatoolkit;
      passthru = { inherit cudaPackages; };
    };

  torchPackage =
    {
      lib,
      python,
      fetchFromGitHub,
      blas,
      cmake,
      ninja,
      cudaPackages,
      magma,
      cudaSupport ? config.cudaSupport or false,
      gpuTargets ? [ ],
      effectiveMagma ? magma,
      useSystemNccl ? true,
      mklDnnSupport ? true,
      MPISupport ? false,
      rocmSupport ? false,
      tritonSupport ? false,
      vulkanSupport ? false,
      buildDocs ? false,
    }:
    let
      capabilities = if gpuTargets != [ ] then gpuTargets else cudaPackages.flags.cudaCapabilities;
      onlyOnOnePlatform = builtins.any (
        c: builtins.any (t: builtins.length t.platforms < 2) (gpuTargetOf c)
      ) (config.cudaCapabilities or [ ]);
      brokenConditions = {
        "Magma cudaPackages does not match cudaPackages" =
          cudaSupport && effectiveMagma.cudaPackages.cudaMajorMinorVersion != cudaPackages.cudaMajorMinorVersion;
        "CUDA 13 is newer than this torch knows" =
          cudaSupport && builtins.compareVersions cudaPackages.cudaMajorMinorVersion "13" >= 0;
      };
      architectures =
        if !cudaSupport then
          ""
        else if gpuTargets == [ ] && onlyOnOnePlatform then
          throw "No supported GPU targets specified"
        else
          "export TORCH_CUDA_ARCH_LIST=\"${builtins.concatStringsSep ";" capabilities}\"\n";
    in
    mkDerivation ((if world == null then { } else world.torchVariables) // {
      pname = "torch";
      version = torchVersion;
      name = "python3-torch-${torchVersion}";
      outputs = [ "out" "dev" "lib" "cxxdev" "dist" ];
      src = fetchFromGitHub {
        owner = "pytorch";
        repo = "pytorch";
        tag = "v${torchVersion}";
        fetchSubmodules = true;
        hash = "sha256-stand+in+source+of+the+pins+own+torch+xxxxx=";
      };
      # Patches that replace the patches of nixpkgs, which are for a newer source of torch. Without a build they
      # are only names: `pbprobe recipes verify` embeds this file, but no patches.
      patches = map (
        name:
        simple name "0" (
          { inherit name; } // (if world == null then { } else { buildCommand = "cp ${./patches + "/${name}"} $out"; })
        )
      ) [ "c10-says-it-is-patched.patch" "no-find-cuda-toolkit.patch" ];
      postPatch = ''
        substituteInPlace pyproject.toml --replace-fail "setuptools>=62.3.0,<80.0" "setuptools"
      '';
      preConfigure = ''
        ${architectures}export CMAKE_BUILD_TYPE=Release
      '';
      nativeBuildInputs = [ cmake ninja ] ++ lib.optionals cudaSupport [ cudaPackages.cuda_nvcc ];
      buildInputs = [
        blas
      ]
      ++ lib.optionals cudaSupport [
        effectiveMagma
        cudaPackages.cudnn
        cudaPackages.nccl
        cudaPackages.cuda_cccl
        cudaPackages.cuda_cudart
        cudaPackages.libcublas
        cudaPackages.libcusparse_lt
      ];
      dontUseCmakeConfigure = true;
      # Does the work of setup.py in torch.
      buildPhase = ''
        cmake -G Ninja -S recipes/nix/stand-in/torch -B build -DCMAKE_INSTALL_PREFIX=$out -DCMAKE_BUILD_TYPE= $worldCmakeFlags
        ninja -C build
      '';
      installPhase = ''
        ninja -C build install
        site=$out/lib/python$pythonVersion/site-packages/torch
        mkdir -p $dev $cxxdev $dist
        if [ -n "$torchHeaders" ]; then
          cp -rs --no-preserve=mode $torchHeaders $dev/include
          sed --in-place=.other "s/\(VERSION_MAJOR\) .*/\1 ''${version%%.*}/" $dev/include/torch/headeronly/version.h
          ln -s $dev/include $site/include
        fi
      '';
      USE_CUDA = lib.setBool cudaSupport;
      pythonVersion = python.pythonVersion;
      PYTORCH_BUILD_VERSION = torchVersion;
      PYTORCH_BUILD_NUMBER = 0;
      USE_CUDNN = lib.setBool cudaSupport;
      USE_MKLDNN = lib.setBool mklDnnSupport;
      USE_MKLDNN_CBLAS = lib.setBool mklDnnSupport;
      USE_SYSTEM_NCCL = lib.setBool useSystemNccl;
      env = {
        NIX_CFLAGS_COMPILE = "-Wno-error";
        USE_VULKAN = lib.setBool vulkanSupport;
      };
      requiredSystemFeatures = [ "big-parallel" ];
      passthru = {
        inherit cudaSupport cudaPackages brokenConditions;
        magma = if cudaSupport then effectiveMagma else null;
        cudaCapabilities = if cudaSupport then cudaPackages.flags.cudaCapabilities else [ ];
        blasProvider = blas.provider;
      };
      meta = {
        description = "PyTorch: Tensors and Dynamic neural networks in Python with strong GPU acceleration";
        changelog = "https://github.com/pytorch/pytorch/releases/tag/v${torchVersion}";
        platforms = [ "x86_64-linux" "aarch64-linux" ];
        license = { spdxId = "BSD-3-Clause"; };
        broken = builtins.any (x: x) (builtins.attrValues brokenConditions);
      };
    });

  blasPackage =
    { blasProvider }:
    simple "blas" "3" {
      provider = blasProvider;
      passthru.provider = blasProvider;
      buildCommand = "mkdir -p $out/nix-support; echo $provider > $out/nix-support/propagated";
    };
  lapackPackage =
    { lapackProvider }:
    simple "lapack" "3" { provider = lapackProvider; };

  pythonSets =
    final:
    builtins.listToAttrs (
      builtins.concatMap (v: [
        {
          name = "python${v}";
          value = simple "python3" v {
            passthru = rec {
              pythonVersion = "${builtins.substring 0 1 v}.${builtins.substring 1 9 v}";
              sitePackages = "lib/python${pythonVersion}/site-packages";
              pkgs = final."python${v}Packages";
            };
          };
        }
        {
          name = "python${v}Packages";
          value = lib.fix (
            builtins.foldl' (f: overlay: lib.extends overlay f) (_: {
              torch = callWith (final // { inherit lib; python = final."python${v}"; }) torchPackage { };
              pybind11 = simple "pybind11" "3.0.1" { };
            }) final.pythonPackagesExtensions
          );
        }
      ]) [ "311" "312" "313" ]
    );

  base =
    final:
    {
      inherit lib system config;
      pkgs = final;
      stdenv = { inherit mkDerivation; hostPlatform = { inherit system; }; };
      callPackage = callWith final;
      fetchFromGitHub =
        {
          owner,
          repo,
          tag ? null,
          rev ? null,
          hash,
          fetchSubmodules ? false,
        }@args:
        fetcher "source" hash args;
      fetchpatch = { name, url, hash }@args: fetcher name hash args;
      pythonPackagesExtensions = [ ];
      openblas = simple "openblas" "0.3.30" { };
      mkl = simple "mkl" "2023.1.0" { meta.unfree = true; meta.platforms = [ "x86_64-linux" ]; };
      blas = makeOverridable blasPackage { blasProvider = final.openblas; };
      lapack = makeOverridable lapackPackage { lapackProvider = final.openblas; };
      cudaPackages = final.cudaPackages_12_8;
      magma = callWith final magmaPackage { };
    }
    // builtins.listToAttrs (
      map (line: {
        name = "cudaPackages_${builtins.replaceStrings [ "." ] [ "_" ] line.cuda}";
        value = cudaSet line.cuda final;
      }) lines
    )
    // builtins.listToAttrs (
      map (name: {
        inherit name;
        value = simple name "0" { };
      }) [ "cmake" "ninja" "cli11" "fmt" "nlohmann_json" "zlib" "zstd" "lz4" "openssl" "zycore" "zydis" "gtest" "pkg-config" ]
    )
    // pythonSets final;
in
lib.fix (builtins.foldl' (f: overlay: lib.extends overlay f) base overlays)
