# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A tiny libtorch of each variant. Flags, versions, platform and names come from `pbprobe recipes`, machine code from
gcc and nvcc, and folders from Nix's layout."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import subprocess

import pytest
from made import IN, OUT, PROGRAM, SOURCE, compiler, made, nvcc, text
from small_builds import UNITS, Build, Library

HERE = pathlib.Path(__file__).resolve().parent
PLAIN = HERE / "plain.cpp"
CAPABILITIES = SOURCE / "tests/audit/fixtures/cpu_capabilities.cpp"
KERNEL = SOURCE / "tests/audit/planted/unit.cu"
OLDER = UNITS / "older120.fatbin"  # by the assembler of CUDA 12.9 that comes with Triton
LINE = "cuda13_0"
OPENS_LINALG = 'const char* linalg() { return "libtorch_cuda_linalg.so"; }\n'  # as at::native does, by dlopen
DEVICE_COUNT = "namespace c10::cuda { short device_count() noexcept { return 1; } }\n"
COUNTS_DEVICES = (
    "namespace c10::cuda { short device_count() noexcept; }\nint devices() { return c10::cuda::device_count(); }\n"
)
OLDEST = 75  # of nvcc 13

# Order of at::native in torch's cmake/Codegen.cmake, better ones first: the linker keeps the first copy of shared
# functions.
CAPABILITY_FLAGS = {
    "x86_64": {
        "AVX512": ("-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mfma"),
        "AVX2": ("-mavx2", "-mfma", "-mf16c"),
        "DEFAULT": (),
    },
    "aarch64": {"SVE256": ("-march=armv8-a+sve+bf16", "-msve-vector-bits=256"), "DEFAULT": ()},
}

TORCH = "torch/lib/"
CPU = TORCH + "libtorch_cpu.so"
C10 = TORCH + "libc10.so"
CUDA = TORCH + "libtorch_cuda.so"
LINALG = TORCH + "libtorch_cuda_linalg.so"
CUDNN = TORCH + "libcudnn.so.9"
GRAPH = TORCH + "libcudnn_graph.so.9"
MAGMA = TORCH + "libmagma.so"
NCCL = TORCH + "libnccl.so.2"
NVSHMEM = TORCH + "libnvshmem_host.so.3"
OPENBLAS = TORCH + "libopenblas.so.0"
OPENMP = TORCH + "libgomp.so.1"


def asked(*arguments: str) -> dict:
    """Runs the program and returns its JSON."""
    done = subprocess.run([PROGRAM, *arguments, "--format", "json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@functools.cache
def variants(line: str = LINE) -> dict[str, dict]:
    """Returns the recipes of a line, by name."""
    return {facts["name"]: facts for facts in asked("recipes", "list", "--line", line)["variants"]}


@functools.cache
def target(identifier: str) -> dict:
    """A row of the target table."""
    rows = json.loads((SOURCE / "recipes/targets.json").read_text())["targets"]
    return next(row for row in rows if row["id"] == identifier)


def compiled(source: pathlib.Path, machine: str, *flags: str) -> pathlib.Path:
    """An object of plain C++, by the flags of a build for that machine."""
    common = ("-std=c++17", "-O3", "-fPIC", "-fvisibility=default")
    return made(f"{source.stem}.o", compiler(machine), *common, *flags, "-c", source, "-o", OUT)


def capability(machine: str, name: str, flags: tuple[str, ...], defines: tuple[str, ...] = ()) -> pathlib.Path:
    """at::native for one CPU capability; the recipe's flags reach it too, before its own."""
    copy = text(
        f"cpu_capabilities.cpp.{name}.cpp", CAPABILITIES.read_text()
    )  # as torch names its copies of a source file
    return compiled(copy, machine, *flags, *CAPABILITY_FLAGS[machine][name], f"-DCAPABILITY={name}", *defines)


def fatbin(number: str, *more: str, flags: tuple[str, ...] = ()) -> pathlib.Path:
    """One translation unit's device code, compressed as torch's for CUDA 13: "90", "90a"; "ptx90" is PTX."""
    if int(number.removeprefix("ptx").rstrip("af")) < OLDEST:
        return old_fatbin(number, *flags)
    command = [nvcc(), "-fatbin", "-DNAME=kernel", "--compress-mode=size", *flags]
    for name in (number, *more):
        code = f"compute_{name[3:]}" if name.startswith("ptx") else f"sm_{name}"
        command.append(f"-gencode=arch=compute_{name.removeprefix('ptx')},code={code}")
    return made(f"sm{number}.fatbin", *command, KERNEL, "-o", OUT)


def old_fatbin(number: str, *flags: str) -> pathlib.Path:
    """For an SM that nvcc no longer knows: by NVRTC of the last CUDA that does (docs/decisions/0008)."""
    tool, library, fatbinary = (os.environ.get(f"PBPROBE_TEST_{name}") for name in ("NVRTC_TOOL", "NVRTC", "FATBINARY"))
    if not (tool and library and fatbinary and pathlib.Path(tool).exists()):
        pytest.skip(f"no NVRTC for sm_{number}: `make build TARGETS=sm{number}` installs it")
    last = target(f"sm{number}")["last_cuda"]
    arguments = (last, KERNEL, str(HERE), OUT, f"--gpu-architecture=sm_{number}", "-DNAME=kernel", *flags)
    cubin = made(f"sm{number}.cubin", pathlib.Path(tool), library, *arguments)
    entry = f"--image3=kind=elf,sm={number},file={IN}"
    return made(f"sm{number}.fatbin", fatbinary, f"--create={OUT}", "-64", entry, cubin)


def functions(prefix: str) -> str:
    """C functions of a library that is linked in statically."""
    return "".join(f'extern "C" int {prefix}{i}(void) {{ return {i}; }}\n' for i in range(12))


def strings(head: str = "") -> str:
    """Exports of c10 with strings."""
    body = "".join(f"int f{i}(const std::string& s) {{ return (int)s.size() + {i}; }}\n" for i in range(12))
    return f"{head}#include <string>\nnamespace c10 {{ {body} }}\n"


def knowing(cuda: str, numbers: list[str]) -> str:
    """Returns source with the constants of a compiler that runs with the program."""
    targets = ", ".join(f'"compute_{number}"' for number in numbers)
    return (
        f'const char* const kTargets[] = {{{targets}, "Cuda compilation tools, release {cuda}, V{cuda}.88"}};\n'
        "const char* target(int i) { return kTargets[i]; }\n"
    )


class Parts:
    """Inputs of a variant's libraries."""

    def __init__(self, facts: dict) -> None:
        self.facts = facts
        self.machine = facts["platforms"][0].split("-")[0]
        self.flags = tuple(facts["cpu_flags"])
        self.number = facts["gpu_arch_num"]
        self.cuda = facts["claim"]["cuda"]

    def plain(self) -> Library:
        return Library(machine=self.machine)

    def library(self, **more) -> Library:
        """One of libtorch's own."""
        return Library(machine=self.machine, objects=(compiled(PLAIN, self.machine, *self.flags),)).but(**more)

    def capabilities(
        self, flags: tuple[str, ...] | None = None, defines: tuple[str, ...] = ()
    ) -> tuple[pathlib.Path, ...]:
        flags = self.flags if flags is None else flags
        return tuple(capability(self.machine, name, flags, defines) for name in CAPABILITY_FLAGS[self.machine])

    def cpu_objects(self, flags: tuple[str, ...] | None = None, defines: tuple[str, ...] = ()) -> tuple:
        flags = self.flags if flags is None else flags
        return (*self.capabilities(flags, defines), compiled(PLAIN, self.machine, *flags))

    def unit(self, *more: str, flags: tuple[str, ...] = ()) -> pathlib.Path:
        """Device code for the variant's SM."""
        return fatbin(self.number, *more, flags=flags)

    def siblings(self) -> tuple[str, ...]:
        """Returns the SMs that torch adds to some files. A file holds only one of "103a" and "103f"."""
        names = [name.removeprefix("sm_") for name in target(self.facts["gpu"])["siblings"]]
        return tuple(name for name in names if not (name.endswith("f") and name[:-1] + "a" in names))

    def needed_by_cuda(self) -> tuple[str, ...]:
        major = self.cuda.split(".")[0]
        names = ["libc10_cuda.so", f"libcudart.so.{major}", f"libcublas.so.{major}", "libnccl.so.2"]
        names += [] if self.facts["environment"].get("USE_CUDNN") == "0" else ["libcudnn.so.9"]
        return (*names, "libnvshmem_host.so.3", "libcuda.so.1")

    def cpu_libraries(self) -> dict[str, Library]:
        one_dnn = "" if self.facts["environment"].get("USE_MKLDNN") == "0" else functions("dnnl_")
        python = self.facts["claim"]["python"].replace(".", "")
        return {
            C10: self.library(code=strings()),
            CPU: self.library(
                code=one_dnn,
                objects=self.cpu_objects(),
                needs=("libc10.so", "libopenblas.so.0", "libgomp.so.1"),
            ),
            TORCH + "libtorch.so": self.library(needs=("libtorch_cpu.so",)),
            TORCH + "libtorch_python.so": self.library(needs=("libtorch.so",)),
            f"torch/_C.cpython-{python}-{self.machine}-linux-gnu.so": self.library(
                needs=("libtorch_python.so",), runpath=("$ORIGIN/lib",)
            ),
            OPENBLAS: self.plain(),
            OPENMP: self.plain(),
        }

    def cuda_libraries(self) -> dict[str, Library]:
        major = self.cuda.split(".")[0]
        theirs = self.plain().but(units=(self.unit(),))
        every = [target(name)["capability"].replace(".", "") for name in (*every_sm(), self.facts["gpu"])]
        libraries = {
            CUDA: self.library(needs=self.needed_by_cuda(), units=self.cuda_units(), code=OPENS_LINALG),
            LINALG: self.library(needs=("libc10_cuda.so", "libmagma.so"), units=(self.unit(),), code=COUNTS_DEVICES),
            TORCH + "libc10_cuda.so": self.library(needs=(f"libcudart.so.{major}",), code=DEVICE_COUNT),
            TORCH + f"libcudart.so.{major}": self.plain(),
            TORCH + f"libcublas.so.{major}": theirs,
            TORCH + f"libnvrtc.so.{major}": self.plain().but(code=knowing(self.cuda, every)),
            MAGMA: theirs,
            NCCL: theirs,
            NVSHMEM: self.plain(),
        }
        if "libcudnn.so.9" in self.needed_by_cuda():
            libraries[CUDNN] = self.plain().but(code='const char* part() { return "libcudnn_graph.so"; }\n')
            libraries[GRAPH] = theirs
        return libraries

    def cuda_units(self) -> tuple[pathlib.Path, ...]:
        """One file of plain loops, and one of those to which torch adds the SM's siblings."""
        if not self.siblings():
            return (self.unit(),)
        return self.unit(), self.unit(*self.siblings(), flags=("-DNAME=wide",))  # no copy of the first


@functools.cache
def every_sm() -> tuple[str, ...]:
    """The line's SMs."""
    return tuple(sorted({facts["gpu"] for facts in variants().values() if facts["gpu"]}))


def get_parts(name: str) -> Parts:
    line = next(word for word in (*name.split("-"), LINE) if word.startswith("cuda"))
    return Parts(variants(line)[name])


@functools.cache
def sound(name: str) -> Build:
    """Returns the build of the recipe `name`."""
    parts = get_parts(name)
    facts, claim = parts.facts, parts.facts["claim"]
    libraries = parts.cpu_libraries() | (parts.cuda_libraries() if parts.number else {})
    python = "cp" + claim["python"].replace(".", "")
    return Build(
        libraries,
        version=claim["torch"],
        cuda=claim["cuda"],
        tag=f"{python}-{python}-linux_{parts.machine}",
        requires=(),
        store=f"python{claim['python']}-{facts['pname']}-{claim['torch']}",
        python=claim["python"],
    )


def old_variants() -> tuple[str, ...]:
    """Returns variants whose SM only older versions of nvcc know, of which the last belongs to their own CUDA."""
    names = []
    for line in asked("recipes", "list", "--line", "all")["variants"]:
        last = target(line["gpu"])["last_cuda"] if line["gpu"] else None
        if last and last == line["claim"]["cuda"]:
            names.append(line["name"])
    return tuple(names)
