# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Small builds shaped as a torch, linked by real compilers."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pathlib
import shutil

import pytest
from made import BUILD, MACHINE, OUT, compiler, kept, made, text

UNITS = BUILD / "tests/audit/planted"
HOST_CODE = BUILD / "tests/audit/host_code"
ORIGIN = ("$ORIGIN",)
PLAIN = "int answer(void) { return 42; }\n"
ENTRY = 'extern "C" void* PyInit__C() { return nullptr; }\n'  # of torch's extension module


@dataclasses.dataclass(frozen=True)
class Library:
    """A shared object. `units`: device code, by the names of tests/audit/planted or by path; a fatbin is embedded."""

    needs: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ORIGIN
    code: str = PLAIN
    units: tuple[str | pathlib.Path, ...] = ()
    objects: tuple[pathlib.Path, ...] = ()  # compiled already
    machine: str = MACHINE
    ready: str | None = None  # one that was built already, below HOST_CODE
    keeps: float = 1.0  # of its bytes: less is a file cut short
    damage: bytes | None = None  # the first of these bytes are written over
    linking: tuple[str, ...] = ()  # further flags of the linker

    def but(self, **changes) -> Library:
        return dataclasses.replace(self, **changes)


def stub(name: str, machine: str) -> pathlib.Path:
    """Stub that a needed library is linked against."""
    source = text("stub.c", "")
    return made(
        f"{name}.stub", compiler(machine, "gcc"), "-shared", "-nostdlib", f"-Wl,-soname,{name}", "-o", OUT, source
    )


def unit(name: str | pathlib.Path, machine: str) -> pathlib.Path:
    """An object with device code."""
    file = UNITS / name
    if not file.exists():
        pytest.skip(f"{name} was not built: no nvcc, or no assembler of another toolkit")
    if file.suffix == ".o":
        return file
    # The assembler reads the cubin by itself: only its name would not tell that it changed.
    content = hashlib.sha256(file.read_bytes()).hexdigest()
    stack = '.section .note.GNU-stack,"",%progbits\n'  # without it the library asks for an executable stack
    embedding = f'# {content}\n{stack}.section .nv_fatbin,"a"\n.balign 8\n.incbin "{file}"\n'
    source = text(f"{file.stem}.s", embedding)
    return made(f"{file.stem}.o", compiler(machine, "gcc"), "-c", source, "-o", OUT)


def damaged(content: bytes, library: Library) -> bytes:
    if library.damage:
        at = content.index(library.damage)
        content = content[:at] + bytes(len(library.damage)) + content[at + len(library.damage) :]
    return content[: int(len(content) * library.keeps)]


def linked(name: str, library: Library) -> pathlib.Path:
    if library.ready:
        whole = HOST_CODE / library.ready
    else:
        machine = library.machine
        whole = made(
            name,
            compiler(machine),
            *("-shared", "-fPIC", "-Wl,--no-as-needed", f"-Wl,-soname,{name}", "-o", OUT),
            text("code.cpp", library.code),
            *library.objects,
            *(unit(part, machine) for part in library.units),
            *(stub(needed, machine) for needed in library.needs),
            *library.linking,
            *(("-Wl,--enable-new-dtags", f"-Wl,-rpath,{':'.join(library.runpath)}") if library.runpath else ()),
        )
    if library.keeps == 1 and not library.damage and not library.ready:
        return whole
    content = damaged(whole.read_bytes(), library)
    return kept(name, hashlib.sha256(name.encode() + content), lambda file: file.write_bytes(content))


def placed(made_file: pathlib.Path, file: pathlib.Path) -> None:
    """Links the file; copies it only to another file system."""
    try:
        os.link(made_file, file)
    except OSError:
        shutil.copyfile(made_file, file)


STORE_LETTERS = "0123456789abcdfghijklmnpqrsvwxyz"


def store_path(name: str) -> str:
    """Returns a name as Nix gives to its outputs: 32 letters of a hash, and `name`."""
    digest = hashlib.sha256(name.encode()).digest()
    return "".join(STORE_LETTERS[byte % 32] for byte in digest) + "-" + name


@dataclasses.dataclass(frozen=True)
class Build:
    """A site-packages folder with a torch. `libraries` maps paths to files; None omits a library.

    `store`: name in the Nix store; the folder is then an output of Nix, and torch/lib is in another output.
    """

    libraries: dict[str, Library | None]
    version: str = "2.11.0+cpu"
    cuda: str | None = None
    commit: str | None = "70d99e9"
    tag: str | None = f"cp311-cp311-manylinux_2_39_{MACHINE}"
    installed: tuple[str, ...] = ()  # "nvidia_cudnn_cu13-9.19.0.56"
    requires: tuple[str, ...] = ("nvidia-cudnn-cu13==9.19.0.56; platform_system == 'Linux'",)
    package: str | None = None  # the package's version, where it is not that of `version`
    links: tuple[str, ...] = ()  # to files that are not there
    store: str | None = None
    python: str = "3.11"
    name: str = "torch"  # in the package's METADATA
    texts: tuple[tuple[str, str], ...] = ()  # further files, or others in place of what is written, by their paths
    collected: bool = False  # the output with the libraries is gone from the store

    def but(self, libraries: dict[str, Library | None] | None = None, **changes) -> Build:
        return dataclasses.replace(self, libraries={**self.libraries, **(libraries or {})}, **changes)

    def write(self, folder: pathlib.Path) -> pathlib.Path:
        """Returns what to audit."""
        folder.mkdir(parents=True, exist_ok=True)
        if not self.store:
            self.write_packages(folder)
            return folder
        out = folder / store_path(self.store)
        packages = out / f"lib/python{self.python}/site-packages"
        (out / "nix-support").mkdir(parents=True)
        (packages / "torch").mkdir(parents=True)
        libraries = folder / store_path(self.store + "-lib") / "lib"
        if not self.collected:
            libraries.mkdir(parents=True)
        (packages / "torch/lib").symlink_to(libraries)
        self.write_packages(packages)
        return out

    def write_packages(self, folder: pathlib.Path) -> None:
        for path, library in self.libraries.items():
            if library is None or (self.collected and path.startswith("torch/lib/")):
                continue
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            module = path.startswith("torch/_C.") and library.code == PLAIN
            placed(linked(file.name, library.but(code=PLAIN + ENTRY) if module else library), file)
        if not self.store:
            (folder / "torch/lib").mkdir(parents=True, exist_ok=True)
        for link in self.links:
            (folder / link).symlink_to("nowhere.so")
        lines = [f"__version__ = '{self.version}'", f"cuda = {self.cuda!r}", f"git_version = {self.commit!r}"]
        (folder / "torch/version.py").write_text("\n".join(lines) + "\n")
        (folder / "torch/__init__.py").touch()
        info = folder / f"torch-{self.package or self.version.split('+')[0]}.dist-info"
        info.mkdir()
        if self.tag:
            (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {self.tag}\n")
        (info / "METADATA").write_text(
            f"Name: {self.name}\n" + "".join(f"Requires-Dist: {line}\n" for line in self.requires)
        )
        for distribution in self.installed:
            (folder / f"{distribution}.dist-info").mkdir()
        for path, content in self.texts:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content)
