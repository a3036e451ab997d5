# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The CMake call of recipes/nix/pbprobe.nix, as Nix evaluates it for one variant, on the files that it takes, against a
real libtorch that is split into result-NAME, -lib and -dev as Nix leaves a build; then the operators compute in that
torch.

    split_libtorch.py SOURCE SCRATCH TORCH [CMAKE_OPTION...]

TORCH: the torch folder of a site-packages. Exit code 77: nix-instantiate or a torch is missing (1 with
PBPROBE_REQUIRE_NIX).
"""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

VARIANTS = {"x86_64": "pytorch-python313-cpu-avx2", "aarch64": "pytorch-python313-cpu-armv8_2"}
COMPUTES = (
    "import torch; from pbprobe import ops; a = torch.eye(3); assert torch.equal(ops.mm(a, a), a); print(ops.__file__)"
)


def run(*command: object, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], check=True, text=True, **options)


def flags(source: Path, scratch: Path, variant: str) -> list[str]:
    """cmakeFlags of the variant's passthru.tests.pbprobe."""
    store = {name: str(scratch / "nix" / name) for name in ("STORE", "STATE", "LOG", "CONF")}
    recipe = f"{source}/.flox/pkgs/{variant}.nix"
    expression = (
        f"(builtins.head (import {source}/recipes/nix/stand-in/evaluate.nix "
        f'{{ files = [ {recipe} ]; systems = [ "{platform.machine()}-linux" ]; }})).probeFlags'
    )
    reported = run(
        *("nix-instantiate", "--eval", "--strict", "--json", "-E", expression),
        env={**os.environ, **{f"NIX_{name}_DIR": folder for name, folder in store.items()}, "NIX_REMOTE": ""},
        stdout=subprocess.PIPE,
    )
    return json.loads(reported.stdout)


def copied(source: Path, folder: Path) -> Path:
    """Copies only the files that the build gets from Nix: recipes/nix/pbprobe_source.json."""
    for part in json.loads((source / "recipes/nix/pbprobe_source.json").read_text()):
        if (source / part).is_dir():
            shutil.copytree(source / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            folder.mkdir(exist_ok=True)
            shutil.copy(source / part, folder / part)
    return folder


def split(torch: Path, folder: Path, variant: str) -> Path:
    """result-VARIANT, -lib and -dev of a torch; the first one."""
    out, lib, dev = (folder / f"result-{variant}{suffix}" for suffix in ("", "-lib", "-dev"))
    package = out / "lib" / "python3.13" / "site-packages" / "torch"
    for made in (package, lib / "lib", dev / "share" / "cmake"):
        made.mkdir(parents=True)
    for library in (torch / "lib").iterdir():
        (lib / "lib" / library.name).symlink_to(library)
    (package / "lib").symlink_to(lib / "lib")
    (package / "include").symlink_to(torch / "include")
    (dev / "include").symlink_to(torch / "include")
    (dev / "share" / "cmake" / "Torch").symlink_to(torch / "share" / "cmake" / "Torch")
    return out


def main() -> int:
    source, scratch, torch = (Path(argument).resolve() for argument in sys.argv[1:4])
    if shutil.which("nix-instantiate") is None or not (torch / "lib").is_dir():
        print("nix-instantiate is not installed (apt install nix-bin), or there is no torch: `make test` brings both")
        return 1 if os.environ.get("PBPROBE_REQUIRE_NIX") else 77
    shutil.rmtree(scratch, ignore_errors=True)
    variant = VARIANTS[platform.machine()]
    result = split(torch, scratch, variant)
    called = []
    for flag in flags(source, scratch, variant):
        name, value = flag.split("=", 1)
        if name == "-DPBPROBE_TORCH":
            store, _, inner = value.partition("/lib/")
            assert inner == "python3.13/site-packages/torch", f"{store}: not where Nix leaves torch: {value}"
            value = f"{result}/lib/{inner}"
        called.append(f"{name}={value}")
    assert any(flag.startswith("-DPBPROBE_TORCH=") for flag in called), called
    build = scratch / "build"
    # Without optimization: what is asked is how it is put together.
    run("cmake", "-G", "Ninja", "-S", copied(source, scratch / "source"), "-B", build, "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_CXX_FLAGS_DEBUG=-O0", *sys.argv[4:], *called)  # fmt: skip
    run("cmake", "--build", build, "--target", "pbprobe_operators")
    package = build / "python"
    # The package's own imports the pipeline's module too, and here only the operators were built.
    (package / "pbprobe" / "__init__.py").unlink()
    (package / "pbprobe" / "__init__.py").touch()
    reported = run(sys.executable, "-W", "ignore", "-c", COMPUTES, stdout=subprocess.PIPE,
               env={**os.environ, "PYTHONPATH": f"{package}:{torch.parent}"})  # fmt: skip
    assert reported.stdout.startswith(str(package)), reported.stdout
    shutil.rmtree(scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
