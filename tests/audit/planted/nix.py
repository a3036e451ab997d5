# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Builds as Nix leaves them: several outputs in a store, linked as result-NAME, result-NAME-lib and result-NAME-dev.

The store is a scratch one of the real Nix, without daemon, sandbox or network.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from builds import CPU, Build, Library, linked, scratch

PACKAGES = "lib/python3.13/site-packages"
PLAIN = Library()
EXPRESSION = """
{ name, outputs, sources, needs }:
derivation {
  inherit name outputs;
  system = builtins.currentSystem;
  builder = "/bin/sh";
  PATH = "/bin:/usr/bin";
  # Paths that the files may refer to: Nix searches only for their hashes.
  inputs = map (path: "${builtins.storePath path}") needs;
  args = [ "-c" (builtins.concatStringsSep "\\n" (map (output: ''
    cp -r "${builtins.getAttr output sources}" "''$${output}"
    chmod -R u+w "''$${output}"
    grep -rlI @ "''$${output}" | while read -r file; do sed -i "s|@lib@|$lib|g" "$file"; done
    if [ -e "''$${output}/link-to-lib" ]; then
      rm "''$${output}/link-to-lib"
      ln -s "$lib/lib" "''$${output}/lib/python3.13/site-packages/torch/lib"
    fi
  '') outputs)) ];
}
"""


@functools.cache
def environment() -> dict[str, str]:
    """Returns the variables with which Nix and pbprobe use the scratch store."""
    if not shutil.which("nix-build"):
        pytest.skip("no nix-build: install Nix (Debian: nix-bin)")
    root = scratch() / "nix"
    folders = {"NIX_STORE_DIR": "store", "NIX_STATE_DIR": "var", "NIX_LOG_DIR": "log", "NIX_CONF_DIR": "etc"}
    for folder in folders.values():
        (root / folder).mkdir(parents=True)
    (root / "package.nix").write_text(EXPRESSION)
    (root / "etc/nix.conf").write_text("sandbox = false\nbuild-users-group =\nsubstitute = false\n")
    places = {name: str(root / folder) for name, folder in folders.items()}
    return {**os.environ, **places, "NIX_REMOTE": "", "HOME": str(root)}


def build(name: str, sources: dict[str, pathlib.Path], needs: tuple[pathlib.Path, ...], link: pathlib.Path) -> None:
    """Links the outputs as `nix-build` does: `link`, and `link`-OUTPUT for each but the first."""
    root = pathlib.Path(environment()["NIX_STORE_DIR"]).parent
    outputs = " ".join(f'"{output}"' for output in sources)
    folders = " ".join(f'{output} = "{folder}";' for output, folder in sources.items())
    call = (
        f'import {root}/package.nix {{ name = "{name}"; outputs = [ {outputs} ]; sources = {{ {folders} }}; '
        f"needs = [ {' '.join(map(str, needs))} ]; }}"
    )
    command = ["nix-build", "--expr", call, "--attr", "all", "--out-link", link, "--quiet"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@functools.cache
def package(name: str, library: str | None = None) -> pathlib.Path:
    """A store path of this name, with a library of this name in it."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch()))
    (folder / "lib").mkdir()
    if library:
        shutil.copy(linked(library, Library()), folder / "lib" / library)
    link = folder.with_name(folder.name + "-link")
    build(name, {"out": folder}, (), link)
    return link.resolve()


@dataclasses.dataclass(frozen=True)
class NixBuild:
    """A CPU torch in outputs out, lib and dev. `refers`: store paths that a text of the -lib output names."""

    library: Library = PLAIN
    needs: tuple[pathlib.Path, ...] = ()  # inputs of the build
    refers: tuple[pathlib.Path, ...] = ()
    gone: tuple[pathlib.Path, ...] = ()  # deleted behind Nix's back

    def write(self, folder: pathlib.Path) -> pathlib.Path:
        whole = Build({CPU: self.library}, tag=None, commit="70d99e9").write(folder / "whole")
        out, lib, dev = (folder / output for output in ("out", "lib", "dev"))
        shutil.copytree(whole, out / PACKAGES)
        (lib / "lib").mkdir(parents=True)
        for file in (out / PACKAGES / "torch/lib").iterdir():
            shutil.copy(file, lib / "lib" / file.name)
        shutil.rmtree(out / PACKAGES / "torch/lib")
        (out / "link-to-lib").touch()
        (lib / "references").write_text("".join(f"{path}\n" for path in self.refers))
        (dev / "share/cmake/Torch").mkdir(parents=True)
        (dev / "share/cmake/Torch/TorchConfigVersion.cmake").write_text('set(PACKAGE_VERSION "2.11.0")\n')
        (dev / "include").mkdir()
        (dev / "include/where").write_text("@lib@\n")
        link = folder / "result-made-up"
        build("python3.13-torch-2.11.0", {"out": out, "lib": lib, "dev": dev}, (*self.needs, *self.refers), link)
        for path in self.gone:
            subprocess.run(["chmod", "-R", "u+w", path], check=True)
            shutil.rmtree(path)
        return link
