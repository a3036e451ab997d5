# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# One targeted torch: the torch of a pinned nixpkgs with the overlays of the recipe, built for one SM and one CPU ISA. The
# recipe states facts; this function applies them to nixpkgs.
{
  pname,
  version, # expected version of the result
  system,
  python, # "313"
  gpuArchSM ? null, # "12.1", the only form that TORCH_CUDA_ARCH_LIST takes; null for a build without CUDA
  withCuda ? gpuArchSM != null, # true without an SM builds the default SMs of nixpkgs
  gpuArchNum ? null, # "121"
  cuda ? null, # "13.0"
  cpuFlags,
  nixpkgs, # { rev, hash }; hash is null if not verified yet
  overlays, # helpers: [ overlay … ]
  environment ? { }, # variables for the build of torch
  blasProvider ? "openblas", # or "mkl"
  cudaToolkitRepo ? "", # checkout with the CUDA packages in .flox/pkgs
  cudaComponents ? { }, # attribute in the CUDA set → file name
  platforms,
  driver ? null, # first driver branch
  description,
  longDescription ? description,
  claim,
}:

let
  source = import ./nixpkgs.nix nixpkgs;

  # Adds a patch unless the package has one of this name, as in a newer pin.
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

  # Older expressions set these variables at the top level, newer ones in env; a name in both is an error.
  setEnvironment =
    old: variables:
    let
      inEnv = builtins.intersectAttrs (old.env or { }) variables;
      atTop = removeAttrs variables (builtins.attrNames inEnv);
    in
    atTop // (if inEnv == { } then { } else { env = old.env // inEnv; });

  # Changes version, source, build version and changelog of torch together.
  upgradeTorch =
    torch:
    {
      version,
      src,
      dropPatches ? false, # drop all patches of nixpkgs
    }:
    torch.overrideAttrs (
      old:
      {
        inherit version src;
        patches = if dropPatches then [ ] else old.patches or [ ];
        # If this version lacks a string, log a warning instead of ending the build.
        postPatch =
          builtins.replaceStrings [ "--replace-fail" ] [ "--replace-warn" ] (old.postPatch or "")
          + ''
            echo "${version}" > version.txt
          ''
          # Replaces the dropped patch for this file, which calls the module of CMake.
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

  # Replaces packages of the CUDA set by packages of the checkout: packages that the line names, packages with a file in the
  # checkout, and the toolkit for its parts (cuda_nvcc, cuda_cudart, libcublas …). No package of the pinned CUDA remains.
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
    # Set capabilities for the whole closure: gpuTargets alone would build MAGMA and NCCL for every SM.
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

  # CUDA 13 has its headers in cuda/std/…; CUTLASS in torch 2.10 includes cccl/cuda/std/….
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
      name = "${pname}-${old.version}"; # buildPythonPackage set the name from the old pname

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
        # nixpkgs marks this torch with CUDA 13 as broken; allowBroken would hide every other reason too.
        // (if newCuda then { broken = false; } else { });

      passthru = (old.passthru or { }) // {
        pbprobe = {
          inherit claim;
          cuda = if withCuda then cuda else null;
          inherit driver gpuArchSM gpuArchNum cpuFlags;
          blas = blasProvider;
          nixpkgs = nixpkgs.rev;
          nixpkgsVerified = nixpkgs.hash != null;
          # A build with CUDA packages of a checkout is not the pinned build: ci/publish refuses it.
          cudaToolkitRepo = if withCuda && cudaToolkitRepo != "" then cudaToolkitRepo else null;
        };
        # pbprobe can be built only from its own checkout.
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
