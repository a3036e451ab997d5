# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Environment for publishing: a separate Nix store, an origin, a checkout with one recipe, and a fake of flox.

The recipe builds the structure of a torch with a real compiler and the recipe's flags, so that the real judge decides.
"""

from __future__ import annotations

import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PBPROBE_TEST_BUILD", SOURCE / "build"))
PROGRAM = BUILD / "bin/pbprobe"
PUBLISH = SOURCE / "ci/publish"
HERE = pathlib.Path(__file__).resolve().parent
LIBTORCH = BUILD / "tests/audit/host_code"
SOUND = {"x86_64": "avx2", "aarch64": "armv8_2"}[os.uname().machine]
WRONG = {"x86_64": "avx512", "aarch64": "armv9"}[os.uname().machine]
BLAS = "libopenblas.so.0"
NAME = f"pytorch-python313-cpu-{SOUND}"
TORCH = "lib/python3.13/site-packages/torch"


def actionlint(workflow: pathlib.Path) -> tuple[int, str]:
    """Returns exit code and output. actionlint also runs shellcheck on the steps if it is installed."""
    program = shutil.which("actionlint", path=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
    if not program:
        pytest.skip("actionlint is not installed: make setup")
    done = subprocess.run([program, "-no-color", workflow], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


RECIPE = """{{
  system ? builtins.currentSystem,
  cudaToolkitRepo ? builtins.getEnv "CUDA_TOOLKIT_REPO",
}}:
import ../../recipes/toy.nix {{
  inherit system cudaToolkitRepo;
  name = "{name}-2.10.0";
  outside = {outside};
}}
"""

# Has the structure of the real recipes: torch in `out`, its libraries in `lib`, and a link from `out` to `lib`.
TOY = """{ system, name, cudaToolkitRepo, outside }:
derivation {
  inherit name system cudaToolkitRepo outside;
  variable = builtins.getEnv "TOY_VARIABLE";
  outputs = [ "out" "lib" ];
  torch = ../torch;
  builder = "/bin/sh";
  args = [
    "-c"
    ''
      set -e
      PATH=/usr/bin:/bin
      mkdir -p $out/lib/python3.13/site-packages $lib
      cp -r $torch/out/. $out/lib/python3.13/site-packages
      cp -r $torch/lib $lib/lib
      date +%s.%N >$lib/built # never the same bits twice
      chmod -R u+w $out
      ln -s $lib/lib $out/lib/python3.13/site-packages/torch/lib
    ''
  ];
}
// { passthru.pbprobe.nixpkgsVerified = true; }
"""


@functools.cache
def small_library(soname: str, function: str = "answer") -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source, library = pathlib.Path(folder) / "code.c", pathlib.Path(folder) / soname
        source.write_text(f"int {function}(void) {{ return 42; }}\n")
        subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{soname}", "-o", library, source], check=True)
        return library.read_bytes()


@functools.cache
def libtorch(target: str) -> bytes:
    """All of torch's CPU capabilities, compiled with the flags of a target's recipe, and linked with a BLAS."""
    with tempfile.TemporaryDirectory() as folder:
        blas, library = pathlib.Path(folder) / BLAS, pathlib.Path(folder) / "libtorch_cpu.so"
        blas.write_bytes(small_library(BLAS))
        objects = sorted(LIBTORCH.glob(f"{target}.*.o"))
        flags = ("-shared", "-nostartfiles", "-nodefaultlibs", "-Wl,--no-as-needed", f"-Wl,-soname,{library.name}")
        subprocess.run(["c++", *flags, "-Wl,-rpath,$ORIGIN", "-o", library, *objects, blas], check=True)
        return library.read_bytes()


def torch_tree(folder: pathlib.Path, target: str) -> None:
    """Makes the outputs of a build: the Python part in out, libtorch and its BLAS in lib."""
    package = folder / "out/torch"
    for made in (package, folder / "out/torch-2.10.0.dist-info", folder / "lib"):
        made.mkdir(parents=True, exist_ok=True)
    (package / "version.py").write_text("__version__ = '2.10.0'\ncuda = None\ngit_version = '449b176'\n")
    (folder / "out/torch-2.10.0.dist-info/METADATA").write_text("Name: torch\nVersion: 2.10.0\n")
    extension = f"_C.cpython-313-{os.uname().machine}-linux-gnu.so"
    (package / extension).write_bytes(small_library(extension, "PyInit__C"))
    (package / "__init__.py").touch()
    (folder / "lib" / BLAS).write_bytes(small_library(BLAS))
    (folder / "lib/libtorch_cpu.so").write_bytes(libtorch(target))


class World:
    """`checkout` is pushed and clean, and `ci/publish` succeeds there, unless a test changes something."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.hub = folder / "hub"
        self.checkout = folder / "checkout"
        self.temporary = folder / "tmp"
        self.outside = folder / "outside"
        programs = folder / "bin"
        for made in (self.hub / "hooks", self.temporary, programs, folder / "nix/etc"):
            made.mkdir(parents=True)
        (self.hub / "user").write_text("alice")
        self.outside.write_text("as it was")
        (folder / "nix/etc/nix.conf").write_text("build-users-group =\nsandbox = false\nsubstitute = false\n")
        (programs / "flox").symlink_to(HERE / "flox")
        self.environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(folder),
            "TMPDIR": str(self.temporary),
            "FLOX_STAND_IN": str(self.hub),
            "PBPROBE": str(PROGRAM),
            "GIT_CONFIG_GLOBAL": str(folder / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "NIX_REMOTE": "",
            **{f"NIX_{part.upper()}_DIR": str(folder / "nix" / part) for part in ("store", "state", "log")},
            "NIX_CONF_DIR": str(folder / "nix/etc"),
        }
        (folder / "gitconfig").write_text(
            "[user]\nname = Alice\nemail = alice@example.org\n[init]\ndefaultBranch = main\n"
        )
        self.run("git", "init", "--quiet", "--bare", folder / "origin.git", at=folder)
        self.run("git", "init", "--quiet", self.checkout, at=folder)
        self.run("git", "remote", "add", "origin", folder / "origin.git")
        self.write_project()
        self.commit("the recipe")
        self.run("git", "push", "--quiet", "--set-upstream", "origin", "main")

    def write_project(self) -> None:
        for path, text in {
            ".flox/env.json": '{ "name": "toy", "version": 1 }',
            ".flox/env/manifest.toml": "version = 1\n",
            ".flox/env/manifest.lock": '{ "lockfile-version": 1 }',
            f".flox/pkgs/{NAME}.nix": RECIPE.format(name=NAME, outside='""'),
            "recipes/toy.nix": TOY,
        }.items():
            (self.checkout / path).parent.mkdir(parents=True, exist_ok=True)
            (self.checkout / path).write_text(text)
        torch_tree(self.checkout / "torch", SOUND)

    def run(self, *command, at: pathlib.Path | None = None) -> str:
        result = subprocess.run(
            list(map(str, command)),
            capture_output=True,
            text=True,
            check=False,
            cwd=at or self.checkout,
            env=self.environment,
        )
        assert result.returncode == 0, f"{command}: {result.stderr}"
        return result.stdout.strip()

    def write(self, path: str, text: str) -> None:
        (self.checkout / path).write_text(text)

    def commit(self, message: str) -> None:
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message", message)

    def push(self, message: str = "a change") -> None:
        self.commit(message)
        self.run("git", "push", "--quiet")

    def hook(self, where: str, script: str) -> None:
        program = self.hub / "hooks" / where
        program.write_text(f"#!/bin/bash\nset -eu\n{script}\n")
        program.chmod(0o755)

    def command(self, *arguments: str, program: pathlib.Path = PUBLISH) -> list[str]:
        return [str(program), "--wait", "0", *map(str, arguments or [NAME])]

    def publish(self, *arguments: str, environment: dict[str, str] | None = None, at=None, program=PUBLISH):
        return subprocess.run(
            self.command(*arguments, program=program),
            capture_output=True,
            text=True,
            check=False,
            cwd=at or self.checkout,
            env={**self.environment, **(environment or {})},
            timeout=120,
        )

    def calls(self) -> list[list[str]]:
        calls = self.hub / "calls"
        return [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []

    def asked(self, command: str) -> list[list[str]]:
        return [call for call in self.calls() if call[0] == command]

    def published(self, owner: str = "alice") -> dict | None:
        entry = self.hub / "catalog" / owner / f"{NAME}.json"
        return json.loads(entry.read_text()) if entry.exists() else None

    def left_behind(self) -> list[str]:
        return [path.name for path in self.temporary.iterdir()]


def stopped(result, code: int, *words: str) -> None:
    assert result.returncode == code, result.stdout + result.stderr
    last = result.stderr[result.stderr.rindex("publish: ") :]
    for word in words:
        assert word in last, result.stdout + result.stderr
    assert "Traceback" not in result.stderr


def nothing_published(world) -> None:
    assert world.published() is None
    assert not world.asked("publish")
    assert world.left_behind() == []
