# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Small builds shaped as a torch, linked by real compilers, and what `pbprobe audit` finds in them."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("PBPROBE_TEST_BUILD", SOURCE / "build"))
PROGRAM = BUILD / "bin/pbprobe"
UNITS = BUILD / "tests/audit/planted"
HOST_CODE = BUILD / "tests/audit/host_code"
MACHINE = os.uname().machine
ORIGIN = ("$ORIGIN",)
PLAIN = "int answer(void) { return 42; }\n"


@functools.cache
def scratch() -> pathlib.Path:
    """A folder for what is linked once and used by many builds; conftest.py removes it."""
    return pathlib.Path(tempfile.mkdtemp(prefix="pbprobe-planted-"))


@functools.cache
def cuda_release() -> str:
    """Of the nvcc that made the units: "13.0"."""
    nvcc = os.environ.get("PBPROBE_TEST_NVCC") or shutil.which("nvcc")
    if not nvcc:
        pytest.skip("no nvcc")
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"release (\d+\.\d+)", text)[1]


@dataclasses.dataclass(frozen=True)
class Library:
    """A shared object. `units`: of nvcc, by the names that CMakeLists.txt gives them; a fatbin is embedded as it is."""

    needs: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ORIGIN
    code: str = PLAIN
    units: tuple[str, ...] = ()
    machine: str = MACHINE
    ready: str | None = None  # one that was built already, below HOST_CODE
    keeps: float = 1.0  # of its bytes: less is a file cut short
    damage: bytes | None = None  # the first of these bytes are written over


def compiler(machine: str, kind: str = "g++") -> str:
    if machine == MACHINE:
        return "c++" if kind == "g++" else "cc"
    name = f"{machine}-linux-gnu-{kind}"
    return shutil.which(name) or pytest.skip(f"no {name}")


@functools.cache
def stub(name: str, machine: str) -> pathlib.Path:
    """What a needed library is linked against."""
    folder = scratch() / "stubs" / machine
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "stub.c"
    source.write_text("")
    linked = folder / f"{name}.stub"
    command = [compiler(machine, "gcc"), "-shared", "-nostdlib", f"-Wl,-soname,{name}", "-o", linked, source]
    subprocess.run(command, check=True)
    return linked


@functools.cache
def unit(name: str, machine: str) -> pathlib.Path:
    """An object with device code."""
    file = UNITS / name
    if not file.exists():
        pytest.skip(f"{name} was not built: no nvcc, or no assembler of another toolkit")
    if file.suffix == ".o":
        return file
    source = scratch() / f"{name}.{machine}.s"
    source.write_text(f'.section .nv_fatbin,"a"\n.balign 8\n.incbin "{file}"\n')
    subprocess.run([compiler(machine, "gcc"), "-c", source, "-o", source.with_suffix(".o")], check=True)
    return source.with_suffix(".o")


def damaged(content: bytes, library: Library) -> bytes:
    if library.damage:
        at = content.index(library.damage)
        content = content[:at] + bytes(len(library.damage)) + content[at + len(library.damage) :]
    return content[: int(len(content) * library.keeps)]


@functools.cache
def linked(name: str, library: Library) -> pathlib.Path:
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch()))
    file = folder / name
    if library.ready:
        file.write_bytes((HOST_CODE / library.ready).read_bytes())
    else:
        source = folder / "code.cpp"
        source.write_text(library.code)
        command = [compiler(library.machine), "-shared", "-fPIC", "-Wl,--no-as-needed", f"-Wl,-soname,{name}"]
        command += ["-o", file, source, *(unit(part, library.machine) for part in library.units)]
        command += [stub(needed, library.machine) for needed in library.needs]
        if library.runpath:
            command += ["-Wl,--enable-new-dtags", f"-Wl,-rpath,{':'.join(library.runpath)}"]
        subprocess.run(command, check=True)
    if library.keeps < 1 or library.damage:
        file.write_bytes(damaged(file.read_bytes(), library))
    return file


@dataclasses.dataclass(frozen=True)
class Build:
    """A site-packages folder with a torch; `libraries` by their paths in it, of which None is left out."""

    libraries: dict[str, Library | None]
    version: str = "2.11.0+cpu"
    cuda: str | None = None
    commit: str | None = "70d99e9"
    tag: str | None = f"cp311-cp311-manylinux_2_39_{MACHINE}"
    installed: tuple[str, ...] = ()  # "nvidia_cudnn_cu13-9.19.0.56"
    requires: tuple[str, ...] = ("nvidia-cudnn-cu13==9.19.0.56; platform_system == 'Linux'",)
    package: str | None = None  # the package's version, where it is not that of `version`
    links: tuple[str, ...] = ()  # to files that are not there

    def but(self, libraries: dict[str, Library | None] | None = None, **changes) -> Build:
        return dataclasses.replace(self, libraries={**self.libraries, **(libraries or {})}, **changes)

    def write(self, folder: pathlib.Path) -> pathlib.Path:
        for path, library in self.libraries.items():
            if library is None:
                continue
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            os.link(linked(file.name, library), file)
        (folder / "torch/lib").mkdir(parents=True, exist_ok=True)
        for link in self.links:
            (folder / link).symlink_to("nowhere.so")
        lines = [f"__version__ = '{self.version}'", f"cuda = {self.cuda!r}", f"git_version = {self.commit!r}"]
        (folder / "torch/version.py").write_text("\n".join(lines) + "\n")
        info = folder / f"torch-{self.package or self.version.split('+')[0]}.dist-info"
        info.mkdir()
        if self.tag:
            (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {self.tag}\n")
        (info / "METADATA").write_text("Name: torch\n" + "".join(f"Requires-Dist: {line}\n" for line in self.requires))
        for distribution in self.installed:
            (folder / f"{distribution}.dist-info").mkdir()
        return folder


CPU = "torch/lib/libtorch_cpu.so"
CUDA = "torch/lib/libtorch_cuda.so"
NCCL = "nvidia/nccl/lib/libnccl.so.2"
BESIDE = ("libcudnn.so.9", "libmagma.so", "libnvshmem_host.so.3")  # what libtorch_cuda.so needs
ANY = "torch=2.11.0"  # a claim that says no more than the version


def cpu(library: Library | None = None, **changes) -> Build:
    """A CPU build."""
    return Build({CPU: library or Library()}).but(**changes)


def cuda(units=("first120.o", "second120.o"), *, nccl=None, machine=MACHINE, **changes) -> Build:
    """A CUDA build for sm_120, with cuDNN, MAGMA and NVSHMEM; `nccl`: units of one."""
    release = cuda_release()
    plain = Library(machine=machine)
    libraries = {CPU: plain, CUDA: Library(needs=BESIDE, units=tuple(units), machine=machine)}
    libraries |= {f"torch/lib/{name}": plain for name in BESIDE}
    if nccl:
        libraries[NCCL] = Library(units=tuple(nccl))
    local = "+cu" + release.replace(".", "")
    tag = f"cp311-cp311-manylinux_2_39_{machine}"
    return Build(libraries, version="2.11.0" + local, cuda=release, tag=tag).but(**changes)


def audit(
    folder: pathlib.Path, claim: str, *options: str, environment: dict[str, str] | None = None
) -> tuple[dict[str, dict], int]:
    """Findings by their ids, and the exit code."""
    command = [PROGRAM, "audit", folder, "--claim", claim, "--format", "json", *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)
    assert result.returncode in (0, 1), result.stderr
    findings = json.loads(result.stdout)["verdict"]["findings"]
    return {finding["id"]: finding for finding in findings}, result.returncode
