# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Small builds of torch as channels and installers of conda lay theirs out, and archives of libtorch."""

import json
import pathlib
import zipfile

from layouts import AVX2, CMAKE, METADATA, OWN, VERSION, Made, conda, plain, write

MODULE = "torch/_C.cpython-312-x86_64-linux-gnu.so"
TELLS_ITS_VERSION = 'extern "C" unsigned long aoti_torch_abi_version() { return 2ull << 56 | 10ull << 48; }\n'


def installed(root: pathlib.Path, *names: str) -> pathlib.Path:
    for name in names:
        package, version, build = name.rsplit("-", 2)
        text = json.dumps({"name": package, "version": version, "build": build})
        write(root / f"conda-meta/{name}.json", text)
    return root


def channel(made: Made, root: pathlib.Path) -> pathlib.Path:
    """The channel of PyTorch: libraries in torch/lib as in a wheel, OpenMP in $PREFIX/lib."""
    plain(made, root / "lib/python3.12/site-packages")
    made.library(root / "lib/libiomp5.so")
    return installed(root, "pytorch-2.10.0-py3.12_cpu_0")


def package_cache(made: Made, root: pathlib.Path) -> pathlib.Path:
    """The files of the environment are hard links to files of extracted packages."""
    environment = conda(made, root / "envs/torch")
    for file in sorted((environment / "lib").glob("*.so")):
        other = root / "pkgs/libtorch-2.10.0-cpu_generic_h0_0/lib" / file.name
        other.parent.mkdir(parents=True, exist_ok=True)
        other.hardlink_to(file)
    return environment


def without_python(made: Made, root: pathlib.Path) -> pathlib.Path:
    """Only the package libtorch, for programs in C++."""
    made.libraries(root / "lib", *AVX2, "-Wl,-rpath,$ORIGIN")
    made.library(root / "lib/libunrelated.so.1")
    write(root / "share/cmake/Torch/TorchConfigVersion.cmake", CMAKE)
    return installed(root, "libtorch-2.10.0-cpu_generic_h0_0")


def linker_scripts(made: Made, root: pathlib.Path) -> pathlib.Path:
    """ncurses and the compiler's runtime put texts for the linker in the places of libraries."""
    conda(made, root)
    write(root / "lib/libncurses.so", "INPUT(-lncursesw)\n")
    write(root / "lib/libgcc_s.so", "/* GNU ld script */\nGROUP ( libgcc_s.so.1 -lgcc )\n")
    return root


def nested_environment(made: Made, root: pathlib.Path) -> pathlib.Path:
    """An environment in the folder of the base environment, which has no torch."""
    installed(root, "conda-24.1.0-py311_0")
    write(root / "lib/python3.11/site-packages/conda/__init__.py", "")
    return conda(made, root / "envs/torch")


def project(made: Made, root: pathlib.Path) -> pathlib.Path:
    """pixi: in a hidden folder of the project."""
    write(root / "pixi.toml", '[workspace]\nchannels = ["conda-forge"]\n')
    return conda(made, root / ".pixi/envs/default")


CONDA = {
    "channel of PyTorch": channel,
    "package cache": package_cache,
    "without Python": without_python,
    "linker scripts": linker_scripts,
    "environment of a base": nested_environment,
    "project": project,
}


def libtorch_archive(made: Made, root: pathlib.Path, *, version: bool) -> pathlib.Path:
    """libtorch-shared-with-deps.zip; without `version`, only its code tells the version."""
    folder = root / "libtorch"
    made.libraries(folder / "lib", *AVX2)
    made.library(folder / "lib/libtorch_cpu.so", *AVX2, code=TELLS_ITS_VERSION)
    write(folder / "build-hash", "0" * 40 + "\n")
    if version:
        write(folder / "build-version", "2.10.0+cpu\n")
    file = root / "libtorch-shared-with-deps.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(root))
    return file


def bookworm(made: Made, root: pathlib.Path) -> pathlib.Path:
    """Debian 12: torch/lib is a link to the folder with all libraries."""
    libraries = root / "usr/lib/x86_64-linux-gnu"
    packages = root / "usr/lib/python3/dist-packages"
    for name in OWN:
        made.library(libraries / f"{name}.2.10.0", *AVX2, soname=f"{name}.2.10")
        (libraries / f"{name}.2.10").symlink_to(f"{name}.2.10.0")
    (packages / "torch").mkdir(parents=True)
    (packages / "torch/lib").symlink_to("../../../x86_64-linux-gnu")
    needs = ("-Wl,--no-as-needed", f"-L{libraries}", "-l:libtorch_python.so.2.10")
    made.library(packages / MODULE, *AVX2, *needs)
    write(packages / "torch/version.py", VERSION)
    write(packages / "torch/__init__.py", "")
    write(packages / "torch-2.10.0.egg-info", METADATA)
    return root
