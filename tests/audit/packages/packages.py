# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Packages as pip installs them, and wheels of them; and what `pbprobe audit` says."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import shutil
import subprocess
import zipfile

import pytest
from made import BUILD, MACHINE, OUT, PROGRAM, SOURCE, made, nvcc, text
from small_builds import Library, linked, placed
from wheels import recorded

__all__ = ["BUILD", "MACHINE", "SOURCE", "Library", "Package", "audit", "device", "read_audit_text", "rows", "wheel"]

CXX = "namespace c10 { void warn(int); struct Error { virtual ~Error(); }; }\nvoid f() { c10::warn(1); }\n"
STABLE = (
    'extern "C" int aoti_torch_get_dim(void*, long*);\nint f(void* t, long* d) { return aoti_torch_get_dim(t, d); }\n'
)
PASSED, FAILED, COULD_NOT_RUN = 0, 1, 2


def device(name: str) -> pathlib.Path:
    """Device code that nvcc wrote for tests/audit: "sm_100a.cubin"."""
    file = BUILD / "tests/audit/device" / name
    return file if file.exists() else pytest.skip(f"{name} was not built: no nvcc")


def ptx_version() -> str:
    """Returns the PTX version that this nvcc writes."""
    ptx = made("plain.ptx", nvcc(), "-ptx", text("plain.cu", "__global__ void f() {}\n"), "-o", OUT)
    return re.search(r"^\.version (\S+)", ptx.read_text(), re.MULTILINE)[1]


@dataclasses.dataclass(frozen=True)
class Package:
    name: str
    libraries: dict[str, Library | pathlib.Path]  # by their paths in site-packages
    version: str = "1.0"
    tag: str = f"cp311-cp311-manylinux_2_39_{MACHINE}"
    recorded: bool = True
    also_recorded: tuple[str, ...] = ()  # lines of RECORD as they stand
    requirements: tuple[str, ...] = ()  # values of Requires-Dist

    @property
    def info(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}.dist-info"

    def but(self, **changes) -> Package:
        return dataclasses.replace(self, **changes)

    def write(self, folder: pathlib.Path) -> pathlib.Path:
        for path, library in self.libraries.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(library, Library):
                placed(linked(file.name, library), file)
            else:
                shutil.copyfile(library, file)
        info = folder / self.info
        info.mkdir(parents=True)
        requirements = "".join(f"Requires-Dist: {requirement}\n" for requirement in self.requirements)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {self.version}\n{requirements}"
        )
        (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nTag: {self.tag}\n")
        if self.recorded:
            paths = [*self.libraries, f"{self.info}/METADATA", f"{self.info}/WHEEL"]
            lines = [recorded(path, (folder / path).read_bytes()) for path in paths]
            lines += [*self.also_recorded, f"{self.info}/RECORD,,"]
            (info / "RECORD").write_text("\n".join(lines) + "\n")
        return folder


def wheel(package: Package, folder: pathlib.Path) -> pathlib.Path:
    site = package.write(folder / f"unpacked-{package.name}")
    file = folder / f"{package.name.replace('-', '_')}-{package.version}-{package.tag}.whl"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(site.rglob("*")):
            archive.write(path, path.relative_to(site))
    shutil.rmtree(site)
    return file


def audit(*arguments: str | pathlib.Path) -> subprocess.CompletedProcess:
    result = subprocess.run([PROGRAM, "audit", *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert "terminate called" not in result.stderr
    return result


def read_audit_text(*arguments: str | pathlib.Path) -> str:
    """In one line: what it wraps depends on the names of folders."""
    result = audit(*arguments)
    assert result.stdout, result.stderr
    return " ".join(result.stdout.split())


def rows(*arguments: str | pathlib.Path, exit_code: int = PASSED) -> tuple[dict[str, dict], dict]:
    """The rows by their names, and the document."""
    result = audit(*arguments, "--format", "json")
    assert result.returncode == exit_code, result.stdout + result.stderr
    document = json.loads(result.stdout)
    return {row["name"]: row for row in document["distributions"]}, document


def list_notes(document: dict) -> list[str]:
    """The notes, without the one that a folder belongs to no Python."""
    return [note for note in document["notes"] if not note.startswith("pbprobe cannot predict which libraries load: ")]
