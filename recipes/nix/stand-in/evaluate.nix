# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Evaluates unchanged recipes in the stand-in nixpkgs: fetchTarball returns the stand-in instead of the pin.
#   nix-instantiate --eval --strict --json evaluate.nix --arg files '[ ../../../.flox/pkgs/NAME.nix ]' --arg systems …
{
  files,
  systems ? [ null ], # one for each file; null selects the first platform in meta of the recipe
  arguments ? { },
  world ? null, # with world.nix, returns derivations to build; with null, returns their facts
  select ? (drv: drv),
}:
let
  matrix = builtins.fromJSON (builtins.readFile ../../matrix.json);

  pinned =
    rev: builtins.filter (pin: pin.rev == rev) (map (line: line.pin) matrix.lines);

  fetchTarball =
    { url, sha256 ? null, name ? "source" }:
    let
      found = builtins.match ".*/NixOS/nixpkgs/archive/([0-9a-f]+)\\.tar\\.gz" url;
      rev = builtins.head found;
    in
    if found == null then
      throw "${url}: no tarball of nixpkgs"
    else if pinned rev == [ ] then
      throw "nixpkgs ${rev} is not a pin of recipes/matrix.json"
    else if sha256 != null && builtins.match "sha256-[A-Za-z0-9+/]{43}=" sha256 == null then
      throw "${url}: sha256 \"${sha256}\" is not a hash"
    else
      import ./nixpkgs.nix {
        inherit rev world;
        torchVersion = (builtins.head (pinned rev)).torch;
      };

  scope = {
    inherit fetchTarball;
    builtins = builtins // { inherit fetchTarball; };
    import = what: if builtins.isFunction what then what else builtins.scopedImport scope what;
  };

  # flox passes the arguments that a recipe lists, from a nixpkgs that allows unfree packages.
  callRecipe =
    file: system:
    let
      recipe = builtins.scopedImport scope file;
      injected = import ./nixpkgs.nix {
        rev = "injected";
        torchVersion = (builtins.head matrix.lines).torch;
        inherit world;
      } { inherit system; config.allowUnfree = true; };
    in
    recipe (builtins.intersectAttrs (builtins.functionArgs recipe) (injected // arguments // { inherit system; }));

  patchName = p: p.name or (baseNameOf (toString p));

  facts = file: system: let drv = callRecipe file system; in {
    file = toString file;
    inherit (drv) drvPath name outputs system;
    pname = drv.pname or null;
    version = drv.version or null;
    meta = drv.meta;
    pbprobe = drv.passthru.pbprobe or null;
    cmakeFlags = drv.cmakeFlags or null;
  }
  // (if drv ? preConfigure then {
    inherit (drv) preConfigure postPatch PYTORCH_BUILD_VERSION;
    environment = builtins.listToAttrs (
      map (name: { inherit name; value = toString (drv.${name} or drv.env.${name}); }) (
        builtins.filter (n: builtins.match "USE_.*" n != null) (
          builtins.attrNames (drv.env or { }) ++ builtins.attrNames (removeAttrs drv [ "env" ])
        )
      )
    );
    src = drv.src.request or null;
    patches = map patchName drv.patches;
    cuda = if drv.cudaSupport then drv.cudaPackages.cudaMajorMinorVersion else null;
    cudnn = if drv.cudaSupport then drv.cudaPackages.cudnn.drvPath else null;
    magma = if drv.cudaSupport then drv.magma.gpuTargets else null;
    magmaPatches = if drv.cudaSupport then map patchName (drv.magma.patches or [ ]) else null;
    magmaCuda = if drv.cudaSupport then drv.magma.cudaPackages.cudaMajorMinorVersion else null;
    nccl = if drv.cudaSupport then drv.cudaPackages.nccl.gpuTargets else null;
    inputs = map (input: input.name) (drv.nativeBuildInputs ++ drv.buildInputs);
    blas = drv.blasProvider.pname;
    probe = drv.passthru.tests.pbprobe.drvPath or null;
    probeFlags = drv.passthru.tests.pbprobe.cmakeFlags or null;
  } else { });
in
builtins.genList (
  i:
  let
    file = builtins.elemAt files i;
    system = builtins.elemAt systems i;
  in
  if world == null then facts file system else select (callRecipe file system)
) (builtins.length files)
