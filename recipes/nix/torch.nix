# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# One targeted torch: nixpkgs' own at a pin, with the recipe's overlays, built for one SM and one CPU ISA.
# The recipe states the facts; what they take to come true in nixpkgs stands here, once.
{
  pname,
  version, # the torch that must come out
  system,
  python, # "313"
  gpuArchSM ? null, # "12.1": TORCH_CUDA_ARCH_LIST takes this form only; null: a build without CUDA
  withCuda ? gpuArchSM != null, # without an SM: nixpkgs' default ones
  gpuArchNum ? null, # "121"
  cuda ? null, # "13.0"
  cpuFlags,
  nixpkgs, # { rev, hash }; hash null: not verified yet
  overlays, # helpers: [ overlay … ]
  environment ? { }, # variables of torch's build
  blasProvider ? "openblas", # or "mkl"
  cudaToolkitRepo ? "", # a checkout whose .flox/pkgs holds the CUDA packages
  cudaComponents ? { }, # their attribute in the CUDA set → their file's name
  platforms,
  driver ? null, # first driver branch
  description,
  longDescription ? description,
  claim,
}:

let
  source = import ./nixpkgs.nix nixpkgs;

  # Adds a patch unless the package has one of this name: a newer pin carries it already.
  patchOnce =
    package: patch:
    package.overrideAttrs (old: {
      patches =
        let
          present = old.patches or [ ];
          nameOf = p: p.name or (baseNameOf (toString p));
        in
        if builtins.any (p: nameOf p == patch.name) present then present else present ++ [ patch ];
    });

  # Older expressions have these variables at the top, newer ones in env; the same name in both is an error.
  setEnvironment =
    old: variables:
    let
      inEnv = builtins.intersectAttrs (old.env or { }) variables;
      atTop = removeAttrs variables (builtins.attrNames inEnv);
    in
    atTop // (if inEnv == { } then { } else { env = old.env // inEnv; });

  # Another version of torch: only a version would leave source, build version and changelog behind.
  upgradeTorch =
    torch:
    {
      version,
      src,
      dropPatches ? false, # all of nixpkgs' own
    }:
    torch.overrideAttrs (
      old:
      {
        inherit version src;
        patches = if dropPatches then [ ] else old.patches or [ ];
        # A string that this version lacks is a warning in the log, not the end of the build.
        postPatch =
          builtins.replaceStrings [ "--replace-fail" ] [ "--replace-warn" ] (old.postPatch or "")
          + ''
            echo "${version}" > version.txt
          ''
          # nixpkgs' own patch of this file went with the others: it hands over to CMake's.
          + (
            if dropPatches then
              ''
                mkdir -p cmake/Modules
                echo 'include("''${CMAKE_ROOT}/Modules/FindCUDAToolkit.cmake")' > cmake/Modules/FindCUDAToolkit.cmake
              ''
            else
              ""
          );
        meta = old.meta // {
          changelog = "https://github.com/pytorch/pytorch/releases/tag/v${version}";
        };
      }
      // setEnvironment old { PYTORCH_BUILD_VERSION = version; }
    );

  # The checkout's packages in place of the set's own: those that the line names, any other that it has a file for, and
  # its toolkit for the parts of one (cuda_nvcc, cuda_cudart, libcublas …), so that nothing of the pinned CUDA is left.
  localCuda = final: prev: {
    cudaPackages = prev.cudaPackages.overrideScope (
      _: pinned:
      let
        suffix = builtins.substring (builtins.stringLength "cudatoolkit") 99 cudaComponents.cudatoolkit;
        of = file: final.callPackage file { };
        parts = builtins.filter (name: builtins.match "(cuda_|lib).+" name != null) (builtins.attrNames pinned);
        own = builtins.mapAttrs (_: name: of (localFile name)) cudaComponents;
        part = name: {
          inherit name;
          value =
            if builtins.pathExists (fileOf (name + suffix)) then of (fileOf (name + suffix)) else own.cudatoolkit;
        };
      in
      builtins.listToAttrs (map part parts) // own
    );
  };
  fileOf = name: cudaToolkitRepo + "/.flox/pkgs/${name}.nix";
  localFile =
    name:
    if builtins.pathExists (fileOf name) then
      fileOf name
    else
      throw "CUDA_TOOLKIT_REPO=${cudaToolkitRepo}: it has no .flox/pkgs/${name}.nix: point it to a checkout that has, or unset it for the pinned packages";

  mklBlas = final: prev: {
    blas = prev.blas.override { blasProvider = final.mkl; };
    lapack = prev.lapack.override { lapackProvider = final.mkl; };
  };

  pkgs = import source {
    inherit system;
    config = {
      allowUnfree = true; # CUDA
    }
    # Of the whole closure: only gpuTargets leaves MAGMA and NCCL with every SM.
    // (
      if gpuArchSM != null then
        {
          cudaSupport = true;
          cudaCapabilities = [ gpuArchSM ];
          cudaForwardCompat = false;
        }
      else
        { cudaSupport = withCuda; }
    );
    overlays =
      overlays { inherit patchOnce upgradeTorch; }
      ++ (if withCuda && cudaToolkitRepo != "" then [ localCuda ] else [ ])
      ++ (
        if blasProvider == "openblas" then
          [ ]
        else if blasProvider == "mkl" then
          [ mklBlas ]
        else
          throw "blasProvider = \"${blasProvider}\": choose openblas or mkl"
      );
  };

  inherit (pkgs) lib;

  base = pkgs."python${python}Packages".torch.override (
    if gpuArchSM != null then
      {
        cudaSupport = true;
        gpuTargets = [ gpuArchSM ];
      }
    else
      { cudaSupport = withCuda; }
  );

  newCuda = withCuda && lib.versionAtLeast cuda "13";

  # CUDA 13 has its headers in cuda/std/…, torch 2.10's CUTLASS looks for cccl/cuda/std/….
  ccclLinks = ''
    mkdir -p "$NIX_BUILD_TOP/cccl-compat/cccl"
    for part in cuda cub thrust nv; do
      ln -sfn "${lib.getDev pkgs.cudaPackages.cuda_cccl}/include/$part" "$NIX_BUILD_TOP/cccl-compat/cccl/$part"
    done
    export CXXFLAGS="''${CXXFLAGS:-} -I$NIX_BUILD_TOP/cccl-compat"
    export CUDAFLAGS="''${CUDAFLAGS:-} -I$NIX_BUILD_TOP/cccl-compat"
  '';

  torch = base.overrideAttrs (
    old:
    {
      inherit pname;
      name = "${pname}-${old.version}"; # buildPythonPackage has set a name from the old pname

      preConfigure =
        (old.preConfigure or "")
        + lib.optionalString (cpuFlags != [ ]) ''
          export CFLAGS="''${CFLAGS:-} ${lib.concatStringsSep " " cpuFlags}"
          export CXXFLAGS="''${CXXFLAGS:-} ${lib.concatStringsSep " " cpuFlags}"
        ''
        + lib.optionalString newCuda ccclLinks;

      meta =
        old.meta
        // {
          inherit description longDescription platforms;
        }
        # nixpkgs marks this torch broken with CUDA 13; allowBroken would hide every other reason too.
        // (if newCuda then { broken = false; } else { });

      passthru = (old.passthru or { }) // {
        pbprobe = {
          inherit claim;
          cuda = if withCuda then cuda else null;
          inherit driver gpuArchSM gpuArchNum cpuFlags;
          blas = blasProvider;
          nixpkgs = nixpkgs.rev;
          nixpkgsVerified = nixpkgs.hash != null;
          # A build from somebody's checkout is not the pinned one: ci/publish refuses it.
          cudaToolkitRepo = if withCuda && cudaToolkitRepo != "" then cudaToolkitRepo else null;
        };
        # Only in a checkout of pbprobe is there something to build it from.
        tests =
          (old.passthru.tests or { })
          // lib.optionalAttrs (builtins.pathExists ./pbprobe.nix) {
            pbprobe = import ./pbprobe.nix {
              inherit pkgs cpuFlags gpuArchNum;
              torch = torch;
              python = pkgs."python${python}";
            };
          };
      };
    }
    // setEnvironment old environment
  );
in
if cudaToolkitRepo != "" && withCuda && !(cudaComponents ? cudatoolkit) then
  throw "CUDA_TOOLKIT_REPO=${cudaToolkitRepo}: it has no effect on this recipe, whose line names no CUDA packages: unset it"
else if torch.version == version then
  torch
else
  throw "${pname}: torch ${torch.version} came out, and the recipe says ${version}: is the overlay that upgrades torch still there?"
