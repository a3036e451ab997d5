# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Parts of the real libtorch, by each CPU target's flags: c10 and ATen's native CPU kernels in all CPU capabilities,
from the source that ci/torch-source fetched.

PBPROBE_REAL_KERNELS names the kernels ("FillKernel SortingKernel"), or is `all`; PBPROBE_REAL_JOBS is how many
compilers run at a time.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import json
import os
import pathlib
import re
import time

from made import BUILD, OUT, SOURCE, compiler, made, text
from small_builds import placed

FETCHED = BUILD / "torch-source"
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
# CMakeLists.txt, c10/CMakeLists.txt, caffe2/CMakeLists.txt and cmake/Codegen.cmake of that release, which has no CPU
# capability for aarch64 yet. The order is the link order: "NOTE [ Linking AVX and non-AVX files ]".
FACTS = json.loads((SOURCE / "recipes/nix/stand-in/torch/aten.json").read_text())
CAPABILITIES = {
    machine: {row["name"]: tuple(row["flags"]) for row in facts["capabilities"]}
    for machine, facts in FACTS["machines"].items()
}
# Kernels of several kinds that compile quickly: setting, cross products, sums of rows, sorting by the standard library.
FEW = "FillKernel CrossKernel BlasKernel SortingKernel"

if pathlib.Path("/usr/lib/ccache").is_dir():
    os.environ["PATH"] = f"/usr/lib/ccache{os.pathsep}{os.environ['PATH']}"


@functools.cache
def root() -> pathlib.Path:
    [folder] = (FETCHED / "source").glob("pytorch-*")
    if not (folder / "version.txt").read_text().startswith(FACTS["release"]):
        raise RuntimeError(f"{folder} is not {FACTS['release']}: the flags of its build are to be read again")
    return folder


@functools.cache
def targets() -> dict[str, dict]:
    """The CPU targets that recipes build for, by id."""
    rows = json.loads((SOURCE / "recipes/targets.json").read_text())["targets"]
    return {row["id"]: row for row in rows if row["kind"] == "cpu" and row["recipe_flags"]}


def kernels() -> list[pathlib.Path]:
    """Returns the requested kernels."""
    folders = (root() / "aten/src/ATen" / folder for folder in FACTS["aten"]["kernels"])
    every = [file for folder in folders for file in sorted(folder.glob("*.cpp"))]
    asked = os.environ.get("PBPROBE_REAL_KERNELS", "").replace(",", " ") or FEW
    if asked == "all":
        return every
    named = {file.stem: file for file in every}
    unknown = set(asked.split()) - named.keys()
    if unknown:
        raise RuntimeError(f"PBPROBE_REAL_KERNELS: there is no {', '.join(sorted(unknown))} in {', '.join(named)}")
    return [named[name] for name in asked.split()]


def includes(machine: str) -> tuple[str, ...]:
    # c10 without glog, gflags and libnuma: Debian's copy of this header asks for them
    macros = text("cmake_macros.h", FACTS["c10"]["macros"])
    folder = macros.parent / "include/c10/macros"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cmake_macros.h").write_text(macros.read_text())
    debian = FETCHED / DEBIAN[machine] / "usr/include"
    own = (folder.parents[1], root(), root() / "aten/src")
    theirs = (debian, debian / f"{machine}-linux-gnu")
    return (*(f"-I{path}" for path in own), *(f"-isystem{path}" for path in theirs))


def compiled(source: pathlib.Path, target: dict, *flags: str) -> pathlib.Path:
    machine = target["architecture"]
    command = (
        compiler(machine),
        *FACTS["common"],
        *FACTS["machines"][machine]["flags"],
        *target["recipe_flags"],
        *flags,
        *includes(machine),
    )
    return made(f"{source.stem}.o", *command, "-c", source, "-o", OUT)


def compile_c10(target: dict, source: pathlib.Path) -> pathlib.Path:
    return compiled(source, target, *FACTS["c10"]["flags"])


def compile_torch(target: dict, source: pathlib.Path) -> pathlib.Path:
    return compiled(source, target, *FACTS["aten"]["flags"])


def compile_capability(target: dict, source: pathlib.Path, capability: str) -> pathlib.Path:
    """Compiles a copy that includes the kernel, named after the CPU capability, as cmake/IncludeSource.cpp.in does."""
    copy = text(f"{source.name}.{capability}.cpp", f'#include "{source}"\n')
    own = CAPABILITIES[target["architecture"]][capability]
    return compiled(
        copy,
        target,
        *FACTS["aten"]["flags"],
        f"-DCPU_CAPABILITY={capability}",
        f"-DCPU_CAPABILITY_{capability}",
        *own,
    )


@dataclasses.dataclass(frozen=True)
class Built:
    target: dict
    folder: pathlib.Path
    kernels: tuple[str, ...]
    c10: int  # its files
    unguarded: tuple[pathlib.Path, ...]  # objects that belong to no CPU capability but the default
    failed: dict[str, str]  # kernels that did not configure, and what the compiler reported first
    seconds: float


def first_error(error: RuntimeError) -> str:
    found = re.search(r"(?:fatal )?error: .*", str(error))
    return found[0] if found else str(error).splitlines()[-1]


def c10_sources() -> list[pathlib.Path]:
    return [file for folder in FACTS["c10"]["folders"] for file in sorted((root() / "c10" / folder).glob("*.cpp"))]


@dataclasses.dataclass(frozen=True)
class Objects:
    c10: list[pathlib.Path]
    default: list[pathlib.Path]
    capabilities: list[pathlib.Path]  # the others, in the order of linking
    failed: dict[str, str]


def compile_all(target: dict, pool: concurrent.futures.Executor) -> Objects:
    """A kernel that one CPU capability does not compile is left out, and reported."""
    capabilities = CAPABILITIES[target["architecture"]]
    c10 = [pool.submit(compile_c10, target, file) for file in c10_sources()]
    dispatch = pool.submit(compile_torch, target, root() / "aten/src/ATen" / FACTS["aten"]["dispatch"])
    started = {
        (file.stem, capability): pool.submit(compile_capability, target, file, capability)
        for capability in capabilities
        for file in kernels()
    }
    failed: dict[str, str] = {}
    for (name, capability), job in started.items():
        if isinstance(error := job.exception(), RuntimeError):
            failed.setdefault(name, f"{capability}: {first_error(error)}")
    of_capabilities = [(capability, job.result()) for (name, capability), job in started.items() if name not in failed]
    default = [dispatch.result(), *(file for capability, file in of_capabilities if capability == "DEFAULT")]
    others = [file for capability, file in of_capabilities if capability != "DEFAULT"]
    return Objects([job.result() for job in c10], default, others, failed)


def linked(name: str, target: dict, objects: list[pathlib.Path], *needed: pathlib.Path) -> pathlib.Path:
    command = (compiler(target["architecture"]), "-shared", "-fopenmp", f"-Wl,-soname,{name}", "-Wl,-rpath,$ORIGIN")
    return made(name, *command, *objects, *needed, "-o", OUT)


def build(identifier: str, folder: pathlib.Path) -> Built:
    """A libtorch folder by this target's flags."""
    target = targets()[identifier]
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("PBPROBE_REAL_JOBS") or os.cpu_count())) as pool:
        objects = compile_all(target, pool)
    libraries = folder / "lib"
    libraries.mkdir(parents=True)
    c10 = linked("libc10.so", target, objects.c10)
    for file in (c10, linked("libtorch_cpu.so", target, [*objects.default, *objects.capabilities], c10)):
        placed(file, libraries / file.name)
    names = tuple(file.stem for file in kernels() if file.stem not in objects.failed)
    unguarded = (*objects.c10, *objects.default)
    return Built(target, folder, names, len(objects.c10), unguarded, objects.failed, time.monotonic() - start)
