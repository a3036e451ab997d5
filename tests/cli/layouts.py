# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A small build of torch as conda, glibc-hwcaps, Debian and editable installs lay theirs out."""

import json
import pathlib
import shutil
import subprocess

from gated import CODE, VECTORS
from small_builds import ENTRY

VERSION = f"__version__ = '2.10.0'\ndebug = False\ncuda = None\ngit_version = '{'0' * 40}'\n"
METADATA = "Metadata-Version: 2.1\nName: torch\nVersion: 2.10.0\n"
CMAKE = 'set(PACKAGE_VERSION "2.10.0")\n'
OWN = ("libc10.so", "libtorch_cpu.so", "libtorch.so", "libtorch_python.so")
AVX2 = ("-mavx2", "-mfma")
AVX512 = ("-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mfma", "-mprefer-vector-width=512")


class Made:
    """Libraries by a real compiler, each kind compiled once."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.source = folder / "code.cpp"
        self.source.write_text(CODE)
        self.module = folder / "module.cpp"
        self.module.write_text(CODE + ENTRY)

    def library(self, path: pathlib.Path, *flags: str, soname: str | None = None, code: str = "") -> pathlib.Path:
        """At that path, with a SONAME of its own, and with further code."""
        name = soname or path.name
        key = self.folder / f"{abs(hash((name, flags, code)))}.so"
        if not key.exists():
            command = ["g++", *VECTORS, "-shared", "-fPIC", f"-Wl,-soname,{name}", *flags]
            source = self.module if name.startswith("_C.") else self.source
            more = self.folder / f"{key.stem}.cpp"
            more.write_text(code)
            subprocess.run([*command, "-o", key, source, more], check=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(key, path)
        return path

    def libraries(self, folder: pathlib.Path, *flags: str) -> None:
        for name in OWN:
            self.library(folder / name, *flags)


def write(path: pathlib.Path, text: str) -> pathlib.Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def plain(made: Made, root: pathlib.Path, *flags: str) -> pathlib.Path:
    """Writes the layout of pip."""
    made.libraries(root / "torch/lib", *(flags or AVX2))
    made.library(root / "torch/_C.cpython-312-x86_64-linux-gnu.so", *(flags or AVX2), "-Wl,-rpath,$ORIGIN/lib")
    write(root / "torch/version.py", VERSION)
    write(root / "torch/__init__.py", "")
    write(root / "torch-2.10.0.dist-info/METADATA", METADATA)
    return root


def conda(made: Made, root: pathlib.Path) -> pathlib.Path:
    """Makes libtorch in $PREFIX/lib with links from torch/lib, and no NVIDIA package in site-packages."""
    packages = root / "lib/python3.12/site-packages"
    made.libraries(root / "lib", *AVX2, "-Wl,-rpath,$ORIGIN")
    made.library(root / "lib/libunrelated.so.1")
    for name in OWN:
        link = packages / "torch/lib" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"../../../../{name}")
    module = packages / "torch/_C.cpython-312-x86_64-linux-gnu.so"
    made.library(module, *AVX2, "-Wl,-rpath,$ORIGIN/lib:$ORIGIN/../../../..")
    write(packages / "torch/version.py", VERSION)
    write(packages / "torch/__init__.py", "")
    write(packages / "torch-2.10.0.dist-info/METADATA", METADATA)
    write(root / "share/cmake/Torch/TorchConfigVersion.cmake", CMAKE)
    for name in ("libtorch-2.10.0-cpu_generic_h0_0", "pytorch-2.10.0-cpu_generic_py312_h0_0"):
        package, version, build = name.rsplit("-", 2)
        write(root / f"conda-meta/{name}.json", json.dumps({"name": package, "version": version, "build": build}))
    return root


def hwcaps(made: Made, root: pathlib.Path, **levels: tuple[str, ...]) -> pathlib.Path:
    """Adds libraries for better CPUs: ld.so takes the best that the CPU can run."""
    plain(made, root, "-O3")
    for level, flags in (levels or {"v3": AVX2, "v4": AVX512}).items():
        made.library(root / f"torch/lib/glibc-hwcaps/x86-64-{level}/libtorch_cpu.so", *flags)
    return root


def debian(made: Made, root: pathlib.Path) -> pathlib.Path:
    """Writes the layout of libtorch1.13, libtorch-dev and python3-torch."""
    libraries = root / "usr/lib/x86_64-linux-gnu"
    packages = root / "usr/lib/python3/dist-packages"
    for name in OWN:
        made.library(libraries / f"{name}.2.10.0", *AVX2, soname=f"{name}.2.10")
        (libraries / f"{name}.2.10").symlink_to(f"{name}.2.10.0")
        (libraries / name).symlink_to(f"{name}.2.10")
        (packages / "torch/lib").mkdir(parents=True, exist_ok=True)
        (packages / "torch/lib" / name).symlink_to(f"../../../../x86_64-linux-gnu/{name}.2.10")
    made.library(libraries / "libunrelated.so.1")
    needs = ("-Wl,--no-as-needed", f"-L{libraries}", "-l:libtorch_python.so.2.10", "-l:libunrelated.so.1")
    made.library(packages / "torch/_C.cpython-312-x86_64-linux-gnu.so", *AVX2, *needs)
    write(packages / "torch/version.py", VERSION)
    write(packages / "torch/__init__.py", "")
    write(packages / "torch-2.10.0.egg-info/PKG-INFO", METADATA)
    write(libraries / "cmake/Torch/TorchConfigVersion.cmake", CMAKE)
    return root


def checkout(made: Made, root: pathlib.Path, installed: bool = True) -> pathlib.Path:
    """PyTorch's tree after `pip install -e .`: built in build/lib, installed into torch/lib, or not."""
    made.libraries(root / "build/lib", *AVX2)
    if installed:
        made.libraries(root / "torch/lib", *AVX2)
    made.library(root / "torch/_C.cpython-312-x86_64-linux-gnu.so", *AVX2, "-Wl,-rpath,$ORIGIN/lib")
    write(root / "torch/version.py", VERSION)
    write(root / "torch/__init__.py", "")
    write(root / "setup.py", "raise SystemExit('never run')\n")
    write(root / "build/CMakeCache.txt", "")
    return root


def editable(made: Made, root: pathlib.Path, kind: str) -> pathlib.Path:
    """An environment whose torch is a checkout elsewhere."""
    tree = checkout(made, root / "src/pytorch", installed=kind != "not installed")
    packages = root / "env/lib/python3.12/site-packages"
    write(root / "env/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\n")
    if kind == "egg-link":
        write(packages / "torch.egg-link", f"{tree}\n.")
        write(packages / "easy-install.pth", f"{tree}\n")
        write(tree / "torch.egg-info/PKG-INFO", METADATA)
        return root / "env"
    write(packages / "torch-2.10.0.dist-info/METADATA", METADATA)
    url = {"url": f"file://{tree}", "dir_info": {"editable": True}}
    write(packages / "torch-2.10.0.dist-info/direct_url.json", json.dumps(url))
    if kind in ("pth", "not installed"):
        write(packages / "__editable__.torch-2.10.0.pth", f"{tree}\n")
    else:
        name = "__editable___torch_2_10_0_finder"
        write(packages / "__editable__.torch-2.10.0.pth", f"import {name}; {name}.install()")
        mapping = {"torchgen": str(tree / "torchgen"), "torch": str(tree / "torch")} if kind == "finder" else {}
        write(packages / f"{name}.py", f"MAPPING: dict[str, str] = {mapping!r}\nraise SystemExit('never run')\n")
    return root / "env"
