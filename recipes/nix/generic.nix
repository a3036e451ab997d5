# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Baseline of one line for comparisons by the gate: the pin, source, patches and BLAS of its variants, with the default SMs
# of nixpkgs and without CPU flags. It is never published.
#   nix-build recipes/nix/generic.nix --argstr line cuda13_0 [--arg withCuda false]
{
  line ? (builtins.fromJSON (builtins.readFile ../matrix.json)).default_line,
  python ? (builtins.fromJSON (builtins.readFile ../matrix.json)).python.default,
  blasProvider ? (builtins.fromJSON (builtins.readFile ../matrix.json)).blas.default,
  withCuda ? true,
  system ? builtins.currentSystem,
}:
let
  matrix = builtins.fromJSON (builtins.readFile ../matrix.json);
  found = builtins.filter (l: l.id == line) matrix.lines;
  row =
    if found == [ ] then
      throw "line = \"${line}\": recipes/matrix.json has ${toString (map (l: l.id) matrix.lines)}"
    else
      builtins.head found;
  patchesOf = package: builtins.filter (p: p.package == package) row.patches;
  packages = builtins.attrNames (
    builtins.listToAttrs (
      map (p: {
        name = p.package;
        value = null;
      }) row.patches
    )
  );
in
import ./torch.nix {
  pname = "${row.pname_prefix}-python${python}-${if withCuda then row.id else "cpu"}-generic";
  version = row.torch;
  inherit
    system
    python
    blasProvider
    withCuda
    ;
  cuda = if withCuda then row.cuda else null;
  cpuFlags = [ ];
  nixpkgs = {
    inherit (row.pin) rev hash;
  };
  overlays =
    { patchOnce, upgradeTorch }:
    (if withCuda then [ (final: prev: { cudaPackages = final.${row.cuda_packages}; }) ] else [ ])
    ++ (
      if withCuda then
        [
          (
            final: prev:
            builtins.listToAttrs (
              map (package: {
                name = package;
                value = builtins.foldl' (
                  p: patch: patchOnce p (final.fetchpatch { inherit (patch) name url hash; })
                ) prev.${package} (patchesOf package);
              }) packages
            )
          )
        ]
      else
        [ ]
    )
    ++ (
      if row.source == null then
        [ ]
      else
        [
          (final: prev: {
            pythonPackagesExtensions = prev.pythonPackagesExtensions ++ [
              (pyfinal: pyprev: {
                torch = upgradeTorch pyprev.torch {
                  version = row.torch;
                  dropPatches = row.source.drop_patches;
                  src = final.fetchFromGitHub {
                    inherit (row.source) owner repo tag hash;
                    fetchSubmodules = row.source.submodules;
                  };
                };
              })
            ];
          })
        ]
    );
  platforms = [
    "x86_64-linux"
    "aarch64-linux"
  ];
  description = "PyTorch ${row.torch} as nixpkgs builds it, the baseline of ${line}";
  claim = "torch=${row.torch}" + (if withCuda then ",cuda=${row.cuda}" else "");
}
