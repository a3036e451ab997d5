# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Small builds of torch as package managers, build back ends and distributions other than conda's lay theirs out."""

import json
import os
import pathlib
import zipfile
from collections.abc import Callable

from layouts import METADATA, Made, checkout, plain, write

PACKAGES = "lib/python3.12/site-packages"
Layout = Callable[[Made, pathlib.Path], pathlib.Path]


def placed(folder: str, place: str = "") -> Layout:
    """The layout of pip in `folder`; what is judged is `place`."""

    def write_layout(made: Made, root: pathlib.Path) -> pathlib.Path:
        plain(made, root / folder)
        return root / place

    return write_layout


def virtual_environment(root: pathlib.Path, **settings: str) -> pathlib.Path:
    lines = {"home": "/usr/bin", "include-system-site-packages": "false", "version": "3.12.3", **settings}
    write(root / "pyvenv.cfg", "".join(f"{key} = {value}\n" for key, value in lines.items()))
    (root / PACKAGES).mkdir(parents=True)
    (root / "lib64").symlink_to("lib")
    return root


def virtual(made: Made, root: pathlib.Path) -> pathlib.Path:
    plain(made, virtual_environment(root) / PACKAGES)
    return root


def uv(mode: str) -> Layout:
    """uv's modes of installing from its cache."""

    def write_layout(made: Made, root: pathlib.Path) -> pathlib.Path:
        environment = virtual_environment(root / ".venv", uv="0.9.2", prompt="project")
        cache = plain(made, root / "cache/archive-v0/AbC")
        write(cache / "torch-2.10.0.dist-info/INSTALLER", "uv")
        for file in [one for one in cache.rglob("*") if one.is_file()]:
            other = environment / PACKAGES / file.relative_to(cache)
            other.parent.mkdir(parents=True, exist_ok=True)
            (other.symlink_to if mode == "symlink" else other.hardlink_to)(file)
        return environment

    return write_layout


def system_packages(made: Made, root: pathlib.Path) -> pathlib.Path:
    """An environment that takes torch from the Python that it was made with."""
    plain(made, root / "usr" / PACKAGES)
    write(root / "usr/bin/python3.12", "").chmod(0o755)
    home = str(root / "usr/bin")
    environment = virtual_environment(root / "env", home=home, **{"include-system-site-packages": "true"})
    (environment / "bin").mkdir()
    (environment / "bin/python").symlink_to(root / "usr/bin/python3.12")
    return environment


def linked(link: str, target: str, place: str) -> Layout:
    """`link` leads to the folder `target` with the layout of pip, or each of its files if `link` ends in a slash."""

    def write_layout(made: Made, root: pathlib.Path) -> pathlib.Path:
        source = plain(made, root / target)
        if not link.endswith("/"):
            (root / link).parent.mkdir(parents=True, exist_ok=True)
            (root / link).symlink_to(os.path.relpath(source / pathlib.Path(link).name, (root / link).parent))
            return root / place
        for file in [one for one in source.rglob("*") if one.is_file()]:
            other = root / link / file.relative_to(source)
            other.parent.mkdir(parents=True, exist_ok=True)
            other.symlink_to(file)
        return root / place

    return write_layout


def backend(files: dict[str, str]) -> Layout:
    """A checkout that a back end installed; `files` of site-packages name it TREE."""

    def write_layout(made: Made, root: pathlib.Path) -> pathlib.Path:
        tree = checkout(made, root / "src/pytorch")
        environment = virtual_environment(root / "env")
        info = environment / PACKAGES / "torch-2.10.0.dist-info"
        write(info / "METADATA", METADATA)
        write(info / "direct_url.json", json.dumps({"url": f"file://{tree}", "dir_info": {"editable": True}}))
        for name, text in files.items():
            write(environment / PACKAGES / name, text.replace("TREE", str(tree)))
        return environment

    return write_layout


def zipped(name: str, method: int) -> Layout:
    def write_layout(made: Made, root: pathlib.Path) -> pathlib.Path:
        folder = plain(made, root / "site")
        with zipfile.ZipFile(root / name, "w", method) as archive:
            for path in sorted(folder.rglob("*")):
                archive.write(path, path.relative_to(folder))
        return root / name

    return write_layout


STORE = "nix/store/" + "0" * 32 + "-python3.12-torch-2.10.0"
MESON = "import sys\nsys.meta_path.insert(0, install('torch', {'torch'}, 'TREE/build', ['ninja'], False))\n"
SCIKIT = "install({'torch': 'TREE/torch/__init__.py'}, {}, None, False, True, [], [], 'TREE')\n"
LAYOUTS: dict[str, Layout] = {
    "venv": virtual,
    "uv, hard links": uv("hardlink"),
    "uv, links": uv("symlink"),
    "system site-packages": system_packages,
    "pip --user": placed(f".local/{PACKAGES}", ".local"),
    "pip --target": placed("target", "target"),
    "pip --prefix": placed(f"opt/app/{PACKAGES}", "opt/app"),
    "pip on Debian": placed("usr/local/lib/python3.12/dist-packages", "usr/local"),
    "image of a container": placed("usr/local/lib/python3.12/dist-packages"),
    "Fedora": placed("usr/lib64/python3.12/site-packages", "usr"),
    "Spack": placed(f"spack/linux-zen4/py-torch-2.10.0-abc/{PACKAGES}", "spack/linux-zen4/py-torch-2.10.0-abc"),
    "Homebrew": placed(f"Cellar/pytorch/2.10.0/libexec/{PACKAGES}", "Cellar/pytorch/2.10.0/libexec"),
    "Nix, one output": placed(f"{STORE}/{PACKAGES}", STORE),
    "Nix, withPackages": linked(f"env/{PACKAGES}/torch", f"{STORE}/{PACKAGES}", "env"),
    "Nix, profile": linked(f"profile/{PACKAGES}/", f"{STORE}/{PACKAGES}", "profile"),
    "Bazel": linked("app.runfiles/pip_torch/site-packages/", "external/torch", "app.runfiles/pip_torch/site-packages"),
    "editable by hatchling": backend({"_torch.pth": "TREE"}),
    "editable by meson-python": backend(
        {"torch-editable.pth": "import _torch_editable_loader", "_torch_editable_loader.py": MESON}
    ),
    "editable by scikit-build-core": backend(
        {"_torch_editable.pth": "import _torch_editable", "_torch_editable.py": SCIKIT}
    ),
    "archive, deflated": zipped("site.zip", zipfile.ZIP_DEFLATED),
    "archive, stored": zipped("site.zip", zipfile.ZIP_STORED),
}
