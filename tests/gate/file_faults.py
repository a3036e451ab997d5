# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Faults of files, versions and packages."""

from __future__ import annotations

import hashlib
import pathlib
from collections.abc import Callable

import elves
from faults import Change, Fault, but, full_name, get_library, says, without
from made import kept
from small_builds import Build, linked
from variants import (
    C10,
    CPU,
    CUDA,
    CUDNN,
    GRAPH,
    LINALG,
    MAGMA,
    NCCL,
    NVSHMEM,
    OLDER,
    OPENBLAS,
    TORCH,
    Parts,
    every_sm,
    functions,
    knowing,
    sound,
    strings,
    target,
)

PYTHON = TORCH + "libtorch_python.so"
CUDART, NVRTC = TORCH + "libcudart.so.13", TORCH + "libnvrtc.so.13"
MODULE = "torch/_C.cpython-313-x86_64-linux-gnu.so"
OLD_STRINGS = "#define _GLIBCXX_USE_CXX11_ABI 0\n"
LATER_GLIBC = "#include <dlfcn.h>\nvoid* f(void) { return dlopen(0, 0); }\n"
RELEASE_2_9 = 'extern "C" unsigned long aoti_torch_abi_version(void) { return 2ull << 56 | 9ull << 48 | 1ull << 40; }\n'
TOOLKIT = ("nvidia_cublas-13.1.0.3", "nvidia_cuda_nvrtc-13.0.88", "nvidia_cufft-12.0.0.61")
MIXED = (*TOOLKIT[:2], "nvidia_cufft-11.4.1.4")
OLD_TOOLKIT = ("nvidia_cublas_cu12-12.9.1.4", "nvidia_cuda_nvrtc_cu12-12.9.86", "nvidia_cufft_cu12-11.4.1.4")


def metadata(folder: str, name: str, version: str) -> tuple[tuple[str, str], ...]:
    return ((f"torch-{folder}.dist-info/METADATA", f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n"),)


def assigned(*versions: str) -> tuple[tuple[str, str], ...]:
    lines = [f"__version__ = '{version}'" for version in versions]
    return (("torch/version.py", "\n".join([*lines, "cuda = '13.0'", "git_version = '70d99e9'"]) + "\n"),)


def needs(path: str, *more: str, less: tuple[str, ...] = ()) -> Change:
    """Further libraries that this one needs, or fewer."""

    def change(build: Build, _: Parts) -> Build:
        own = get_library(build, path)
        return build.but({path: own.but(needs=(*(name for name in own.needs if name not in less), *more))})

    return change


def copied(path: str, other: str) -> Change:
    """Adds a copy of a library under another name."""
    return lambda build, _: build.but({other: get_library(build, path)})


def renamed(path: str, suffix: str) -> Change:
    """Renames a library and keeps its DT_SONAME: the loader does not find it."""

    def change(build: Build, _: Parts) -> Build:
        return build.but({path: None, path + suffix: get_library(build, path)})

    return change


def renamed_module(platform: str) -> Change:
    """torch/_C with another processor or C library in its name."""
    other = MODULE.replace("x86_64-linux-gnu", platform)
    return lambda build, _: build.but({MODULE: None, other: get_library(build, MODULE)})


def both(*changes: Change) -> Change:
    def change(build: Build, parts: Parts) -> Build:
        for one in changes:
            build = one(build, parts)
        return build

    return change


def added(path: str, **more) -> Change:
    """Adds a new library."""
    return lambda build, parts: build.but({path: parts.plain().but(**more)})


def python(module: str, tag: str) -> Change:
    """An extension module and a tag of other Pythons."""

    def change(build: Build, parts: Parts) -> Build:
        [path] = [path for path in build.libraries if path.startswith("torch/_C.")]
        renamed = path.replace("cpython-313", f"cpython-{module}")
        libraries = {path: None, renamed: build.libraries[path]}
        return build.but(libraries, tag=f"{tag}-{tag}-linux_{parts.machine}")

    return change


def replace_by_other_processor(name: str) -> Change:
    """All that another variant's recipe builds."""
    return lambda build, _: sound(full_name(name)).but(store=build.store)


def called(name: str) -> Change:
    """Nix calls it as it would another variant."""
    return lambda build, _: build.but(store=sound(full_name(name)).store)


def without_cuda(build: Build, _: Parts) -> Build:
    names = (*(TORCH + name for name in ("libc10_cuda.so", "libcudart.so.13", "libcublas.so.13", "libnvrtc.so.13")),)
    return build.but(dict.fromkeys((CUDA, LINALG, CUDNN, GRAPH, MAGMA, NCCL, NVSHMEM, *names)), cuda=None)


def replace_by_older_cuda(build: Build, parts: Parts) -> Build:
    """Version, libraries and cubins of CUDA 12.9: the whole set was not moved."""
    renamed = {path: path.replace(".so.13", ".so.12") for path in build.libraries if path.endswith(".so.13")}
    libraries = dict.fromkeys(renamed) | {new: build.libraries[old] for old, new in renamed.items()}
    for path, own in build.libraries.items():
        if path in renamed or own is None:
            continue
        needed = tuple(name.replace(".so.13", ".so.12") for name in own.needs)
        libraries[path] = own.but(needs=needed, units=(OLDER,) if path == CUDA else own.units)
    return build.but(libraries, cuda="12.9")


def damaged_entry(*magic: int) -> Change:
    return but(CUDA, damage=bytes(magic))


def damaged_payload(build: Build, _: Parts) -> Build:
    """Some bytes behind the header of the first compressed entry."""
    own = get_library(build, CUDA)
    content = own.units[0].read_bytes()
    at = content.index(b"\x28\xb5\x2f\xfd") + 24
    return build.but({CUDA: own.but(damage=content[at : at + 64])})


def copy_library(one: str, other: str) -> Change:
    """One library, copied over another."""

    def change(build: Build, parts: Parts) -> Build:
        content = linked(one.rsplit("/", 1)[-1], get_library(build, one))
        return build.but({other: get_library(build, other).but(ready=str(content))})

    return change


def exchanged_version(path: str, other: str) -> Change:
    """The library of another version under the name of this one."""

    def change(build: Build, parts: Parts) -> Build:
        content = linked(other, get_library(build, path))
        return build.but({path: get_library(build, path).but(ready=str(content))})

    return change


def shadowed(path: str, user: str) -> Change:
    """A stub of the same name in a folder that the RUNPATH of `user` names first."""

    def change(build: Build, parts: Parts) -> Build:
        folder, name = path.rsplit("/", 1)
        first = get_library(build, user).but(runpath=("$ORIGIN/first", "$ORIGIN"))
        return build.but({f"{folder}/first/{name}": parts.plain(), user: first})

    return change


def zero_code(path: str, part: float = 1.0) -> Change:
    """Zeros where the last part of its code should be."""

    def change(build: Build, parts: Parts) -> Build:
        whole = linked(path.rsplit("/", 1)[-1], get_library(build, path)).read_bytes()
        code = elves.section(whole, ".text")
        begin = code.end - int(code.size * part)
        content = elves.put(whole, begin, bytes(code.end - begin))
        name = path.rsplit("/", 1)[-1]
        digest = hashlib.sha256(name.encode() + content)
        return build.but({path: get_library(build, path).but(ready=str(kept(name, digest, writing(content))))})

    return change


def add_empty_container(path: str) -> Change:
    """Device code under another section's name, in a container that says it ends before its first entry."""

    def change(build: Build, parts: Parts) -> Build:
        name = path.rsplit("/", 1)[-1]
        whole = linked(name, get_library(build, path)).read_bytes()
        at = elves.section(whole, ".nv_fatbin").offset
        content = elves.renamed(elves.put(whole, at + 8, bytes(8)), ".nv_fatbin", ".data.fatbin")
        digest = hashlib.sha256(name.encode() + content)
        return build.but({path: get_library(build, path).but(ready=str(kept(name, digest, writing(content))))})

    return change


def add_invalid_constructor(path: str) -> Change:
    """ld.so calls an address behind all that is loaded."""

    def change(build: Build, parts: Parts) -> Build:
        name = path.rsplit("/", 1)[-1]
        whole = linked(name, get_library(build, path)).read_bytes()
        start = elves.section(whole, ".init_array").address
        kind = elves.RELATIVE[elves.header(whole)[2]]
        [place] = [row[0] for row in elves.relocations(whole) if row[1:3] == (start, kind)]
        nowhere = max(begin + size for begin, size in elves.loaded(whole)) + elves.PAGE
        content = elves.replace_relocation(whole, place, kind, nowhere)
        digest = hashlib.sha256(name.encode() + content)
        return build.but({path: get_library(build, path).but(ready=str(kept(name, digest, writing(content))))})

    return change


def patched(path: str, how: Callable[[bytes], bytes]) -> Change:
    """The library with its bytes changed after linking."""

    def change(build: Build, _: Parts) -> Build:
        name = path.rsplit("/", 1)[-1]
        content = how(linked(name, get_library(build, path)).read_bytes())
        digest = hashlib.sha256(name.encode() + content)
        return build.but({path: get_library(build, path).but(ready=str(kept(name, digest, writing(content))))})

    return change


def writing(content: bytes) -> Callable[[pathlib.Path], object]:
    return lambda file: file.write_bytes(content)


def cut(path: str, keeps: float) -> Change:
    return but(path, keeps=keeps)


def old_compiler(build: Build, parts: Parts) -> Build:
    known = [target(name)["capability"].replace(".", "") for name in every_sm() if name != parts.facts["gpu"]]
    return build.but({TORCH + "libnvrtc.so.13": parts.plain().but(code=knowing("12.8", known))})


READING = [
    Fault("truncated libtorch_cuda.so", "sm90-avx2", "PB101", cut(CUDA, 0.6)),
    Fault("truncated libtorch_cpu.so", "cpu-armv9", "PB101", cut(CPU, 0.5)),
    Fault("empty libtorch_cuda.so", "sm86-avx2", "PB101", cut(CUDA, 0.0)),
    Fault("truncated _C", "cpu-avx512bf16", "PB101", cut(MODULE, 0.3)),
    Fault("zeros for all code of libtorch_cuda.so", "sm100-avx512bf16", "PB101", zero_code(CUDA)),
    Fault("zeros for half the code of libtorch_cpu.so", "cpu-avx2", "PB101", zero_code(CPU, 0.5)),
    Fault("zeros for half the code of libc10.so", "sm80-armv8_2", "PB101", zero_code(C10, 0.5)),
    Fault("a constructor that is nowhere", "cpu-armv9", "PB101", add_invalid_constructor(PYTHON)),
    Fault("a constructor that is nowhere", "sm90-avx512", "PB101", add_invalid_constructor(C10)),
    Fault("a container that says it is empty", "sm90-armv9", "PB101", add_empty_container(LINALG)),
    Fault("a fatbin with a broken header", "sm121-armv9", "PB101", damaged_entry(0x50, 0xED, 0x55, 0xBA)),
    Fault("a fatbin with broken data", "sm100-avx512bf16", "PB330", damaged_payload),
    Fault("truncated libnccl.so.2", "sm110-armv9", "PB102", cut(NCCL, 0.5)),
    Fault("libc10.so for FreeBSD", "cpu-avx2", "PB101", patched(C10, elves.set_freebsd_abi)),
    Fault("libtorch_python.so is a program", "sm80-avx2", "PB101", patched(PYTHON, elves.set_program_type)),
    Fault("libtorch_cuda.so without PT_DYNAMIC", "sm90-armv9", "PB101", patched(CUDA, elves.without_dynamic)),
    Fault("libtorch_cpu.so without an executable segment", "cpu-armv9", "PB101", patched(CPU, elves.without_code)),
    Fault("no libtorch_cpu.so", "cpu-avx512", "PB103", without(CPU)),
    Fault("the output with the libraries is gone", "cpu-avx2", "PB103", says(collected=True)),
    Fault("a link to a missing library", "sm120-avx512", "PB128", says(links=("torch/libtorch_old.so",))),
]

VERSIONS = [
    Fault("the overlay moved: torch 2.9.1", "sm90-armv9", "PB105", says(version="2.9.1")),
    Fault("torch 2.11.0", "cpu-avx512vnni", "PB105", says(version="2.11.0")),
    Fault("the package says 2.9.1", "sm75-avx2", "PB120", says(package="2.9.1")),
    Fault("a candidate", "cpu-avx", "PB105", says(version="2.10.0rc1")),
    Fault("a nightly build", "sm121-armv9", "PB105", says(version="2.10.0.dev20260101")),
    Fault(
        "built from a checkout without a version number", "sm90-avx512", "PB105", says(version="2.10.0a0+git70d99e9")
    ),
    Fault("METADATA of another version", "sm103-armv9", "PB120", says(texts=metadata("2.10.0", "torch", "2.10.0rc1"))),
    Fault(
        "METADATA of another package", "cpu-avx512", "PB134", says(texts=metadata("2.10.0", "torchvision", "2.10.0"))
    ),
    Fault("a second dist-info", "sm86-avx2", "PB134", says(texts=metadata("2.9.1", "torch", "2.9.1"))),
    Fault("a version that is assigned twice", "sm75-avx512", "PB135", says(texts=assigned("2.9.1", "2.10.0"))),
    Fault("libraries of another release", "cpu-armv9", "PB136", but(CPU, code=functions("dnnl_") + RELEASE_2_9)),
    Fault("the version says another CUDA", "sm80-avx512vnni", "PB120", says(version="2.10.0+cu128")),
    Fault("built with CUDA 13.2", "sm120-avx512vnni", "PB106", says(cuda="13.2")),
    Fault("built with CUDA 12.9 throughout", "sm120-avx512bf16", "PB106", replace_by_older_cuda),
    Fault("a CPU build", "sm89-avx512", "PB106", without_cuda),
    Fault("a CUDA build", "sm80-avx2", "PB106", called("cpu-avx2"), claim=full_name("cpu-avx2")),
    Fault("for Python 3.12", "sm121-armv8_2", "PB107", python("312", "cp312")),
    Fault("a tag for Python 3.12", "sm103-avx512", "PB121", python("313", "cp312")),
    Fault("a tag for another processor", "cpu-armv8_2", "PB121", says(tag="cp313-cp313-linux_x86_64")),
    Fault(
        "MKL",
        "sm86-avx512vnni",
        "PB108",
        both(needs(CPU, "libmkl_rt.so.2", less=("libopenblas.so.0",)), added(TORCH + "libmkl_rt.so.2")),
    ),
    Fault(
        "MKL beside OpenBLAS",
        "sm80-avx2",
        "PB108",
        both(needs(CPU, "libmkl_rt.so.2"), added(TORCH + "libmkl_rt.so.2")),
        unknown=True,
    ),
    Fault("no BLAS", "cpu-avx512", "PB108", needs(CPU, less=("libopenblas.so.0",)), unknown=True),
    Fault("_C for aarch64 by its name", "cpu-avx2", "PB213", renamed_module("aarch64-linux-gnu")),
    Fault("_C for musl by its name", "sm90-avx512", "PB213", renamed_module("x86_64-linux-musl")),
    Fault("for x86-64", "cpu-armv9", "PB109", replace_by_other_processor("cpu-avx2")),
    Fault("for aarch64", "sm90-avx512", "PB109", replace_by_other_processor("sm90-armv9")),
    Fault("built from an unknown commit", "sm100-avx2", "PB123", says(commit="Unknown", store=None)),
    Fault("the strings before C++11", "cpu-avx2", "PB122", but(C10, code=strings(OLD_STRINGS))),
]

TOOLKITS = [
    Fault(
        "libcudart.so.12",
        "sm89-avx512vnni",
        "PB110",
        both(needs(CUDA, "libcudart.so.12"), added(TORCH + "libcudart.so.12")),
    ),
    Fault(
        "libcublas.so.12 in libtorch_cuda_linalg.so",
        "sm121-armv9",
        "PB110",
        both(needs(LINALG, "libcublas.so.12"), copied(TORCH + "libcublas.so.13", TORCH + "libcublas.so.12")),
    ),
    Fault(
        "one library of another toolkit", "sm80-avx512bf16", "PB112", says(installed=MIXED), beside=frozenset({"PB111"})
    ),
    Fault("all libraries of another toolkit", "sm75-avx512", "PB112", says(installed=OLD_TOOLKIT)),
    Fault("an NVRTC that does not know the SM", "sm110-armv8_2", "PB113", old_compiler),
    Fault("an NVRTC that does not know the SM", "sm121-armv9", "PB113", old_compiler),
    Fault(
        "another cuDNN than asked for",
        "sm86-avx512bf16",
        "PB119",
        says(requires=("nvidia-cudnn-cu13==9.13.0.50",), installed=("nvidia_cudnn_cu13-9.11.0.98",)),
    ),
]

BESIDE = [
    Fault("libc10.so under the name of libtorch_python.so", "sm86-avx512", "PB149", copy_library(C10, PYTHON)),
    Fault("libtorch.so under the name of libc10.so", "cpu-armv9", "PB149", copy_library(TORCH + "libtorch.so", C10)),
    Fault("a second libc10.so, a stub", "cpu-avx2", "PB149", shadowed(C10, CPU)),
    Fault(
        "a second libtorch_cuda_linalg.so, a stub",
        "sm80-armv8_2",
        "PB149",
        shadowed(LINALG, CUDA),
        beside=frozenset({"PB126"}),
    ),
    Fault("libcudart.so.12 as libcudart.so.13", "sm80-avx2", "PB149", exchanged_version(CUDART, "libcudart.so.12")),
    Fault("libnvrtc.so.12 as libnvrtc.so.13", "sm90-armv9", "PB149", exchanged_version(NVRTC, "libnvrtc.so.12")),
    Fault("_C under the name of libtorch_python.so", "cpu-avx", "PB149", copy_library(MODULE, PYTHON)),
    Fault(
        "libtorch_python.so under the name of _C",
        "sm89-avx2",
        "PB149",
        copy_library(PYTHON, MODULE),
        beside=frozenset({"PB140", "PB163"}),  # its RUNPATH leads nowhere from there, and Python finds no entry
    ),
    Fault("libc10.so is missing", "cpu-avx", "PB140", without(C10)),
    Fault("libtorch_cpu.so exists only under another name", "cpu-avx2", "PB140", renamed(CPU, ".2.10")),
    Fault("libc10_cuda.so is missing", "sm120-armv9", "PB140", without(TORCH + "libc10_cuda.so")),
    Fault("libtorch_python.so is missing", "sm86-avx2", "PB140", without(PYTHON)),
    Fault("libtorch_cuda_linalg.so is missing", "sm90-armv9", "PB140", without(LINALG), beside=frozenset({"PB126"})),
    Fault("OpenBLAS is missing", "cpu-avx", "PB115", without(OPENBLAS)),
    Fault("cuDNN is missing", "sm103-armv8_2", "PB115", without(CUDNN, GRAPH)),
    Fault("libtorch_cpu.so needs what is nowhere", "cpu-armv8_2", "PB115", needs(CPU, "libmade-up.so.3")),
    Fault("a part of cuDNN is missing", "sm89-armv8_2", "PB116", without(GRAPH)),
    Fault(
        "two OpenMP libraries", "cpu-avx512bf16", "PB117", both(needs(CPU, "libiomp5.so"), added(TORCH + "libiomp5.so"))
    ),
    Fault(
        "a stub of the driver on the RUNPATH",
        "sm80-armv9",
        "PB118",
        but(CUDA, runpath=("$ORIGIN", "/opt/cuda/lib64/stubs")),
    ),
    Fault("a libcuda is shipped", "sm110-armv9", "PB118", added(TORCH + "libcuda.so.1")),
    Fault("no oneDNN", "cpu-armv9", "PB124", but(CPU, code=functions("xnn_"))),
    Fault("built without cuDNN", "sm90-avx2", "PB125", needs(CUDA, less=("libcudnn.so.9",))),
    Fault("built without MAGMA", "sm121-armv8_2", "PB126", needs(LINALG, less=("libmagma.so",))),
    Fault("built without NVSHMEM", "sm100-armv9", "PB127", needs(CUDA, less=("libnvshmem_host.so.3",))),
    Fault(
        "another recipe's pname",
        "sm90-armv8_2",
        "PB132",
        called("sm80-armv8_2"),
    ),
    Fault("another recipe's pname", "cpu-avx512", "PB132", called("cpu-avx2")),
    Fault(
        "a RUNPATH into the build folder",
        "sm103-avx512bf16",
        "PB133",
        but(CUDA, runpath=("/build/source/build/lib", "$ORIGIN")),
    ),
    Fault("a RUNPATH with an empty name", "cpu-avx2", "PB137", but(CPU, runpath=("$ORIGIN", "", "/usr/lib"))),
    Fault("a RUNPATH of the working folder", "sm90-armv9", "PB137", but(CUDA, runpath=(".", "$ORIGIN"))),
    Fault("a RUNPATH to a shared folder", "sm80-avx512", "PB137", but(LINALG, runpath=("$ORIGIN", "/var/tmp/libs"))),
    Fault("an executable stack", "cpu-avx2", "PB181", but(CPU, linking=("-Wl,-z,execstack",))),
    Fault("a RUNPATH into a home", "cpu-armv8_2", "PB138", but(C10, runpath=("$ORIGIN", "/home/someone/torch/lib"))),
    Fault(
        "a RUNPATH into a checkout",
        "cpu-avx512vnni",
        "PB133",
        but(CPU, runpath=("$ORIGIN", "/home/someone/pytorch/build/lib")),
    ),
    Fault(
        "a RUNPATH into a temporary build folder",
        "sm120-armv9",
        "PB133",
        but(C10, runpath=("$ORIGIN", "/tmp/nix-build-torch.drv-0/source/torch/lib")),
    ),
]

FAULTS = [*READING, *VERSIONS, *TOOLKITS, *BESIDE]
