# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Faults of device code: SMs, PTX, suffixes, traps, toolkits, and the libraries with SM lists of their own."""

from __future__ import annotations

from faults import Change, Fault, get_library, says
from small_builds import Build
from variants import CUDA, GRAPH, LINALG, MAGMA, NCCL, OLDER, Parts, fatbin, functions


def units(path: str, *cubins) -> Change:
    """Other device code in that library: each cubin is a number, or several in one translation unit."""

    def change(build: Build, _: Parts) -> Build:
        others = tuple(fatbin(*one) if isinstance(one, tuple) else fatbin(one) for one in cubins)
        return build.but({path: get_library(build, path).but(units=others)})

    return change


def all_of_libtorch(*cubins) -> Change:
    """Other device code in each of libtorch's files."""

    def change(build: Build, parts: Parts) -> Build:
        return units(LINALG, *cubins)(units(CUDA, *cubins)(build, parts), parts)

    return change


def only_its_own(build: Build, parts: Parts) -> Build:
    """Keeps only the plain SM: the files with tensor paths lose their suffix."""
    return build.but({CUDA: get_library(build, CUDA).but(units=(parts.unit(), parts.unit()))})


def trapping(number: str) -> Change:
    """A file whose author thought of another chip."""

    def change(build: Build, parts: Parts) -> Build:
        traps = parts.unit(flags=(f"-DONLY={number}",))
        others = (parts.unit(),) * 4  # beside which it is not a large share
        return build.but({CUDA: get_library(build, CUDA).but(units=(*parts.cuda_units(), *others, traps))})

    return change


def link_static_library(prefix: str, *cubins) -> Change:
    """A static library with a list of its own in libtorch_cuda.so."""

    def change(build: Build, parts: Parts) -> Build:
        own = get_library(build, CUDA)
        units = (*own.units, *(fatbin(*one) if isinstance(one, tuple) else fatbin(one) for one in cubins))
        return build.but({CUDA: own.but(units=units, code=functions(prefix))})

    return change


def without_device_code(build: Build, _: Parts) -> Build:
    return build.but({path: get_library(build, path).but(units=()) for path in (CUDA, LINALG)})


ANOTHER_SM = [
    Fault("built for another SM", "sm90-avx2", "PB314", all_of_libtorch("80")),
    Fault("only sm_120, which runs there", "sm121-armv9", "PB314", all_of_libtorch("120")),
    Fault("only sm_80, which runs there", "sm86-avx512", "PB314", all_of_libtorch("80")),
    Fault("only sm_86, which runs there", "sm89-armv9", "PB314", all_of_libtorch("86")),
    Fault("only sm_100, which runs there", "sm103-avx512bf16", "PB314", all_of_libtorch("100")),
    Fault("12.1 that became 12.1(2.0): only sm_75", "sm121-armv8_2", "PB314", all_of_libtorch("75")),
    Fault(
        "one translation unit without the SM", "sm100-avx512vnni", "PB314", units(CUDA, "100", ("100", "100a"), "90")
    ),
    Fault("libtorch_cuda_linalg.so without the SM", "sm110-armv8_2", "PB314", units(LINALG, "100")),
    Fault("only the 103a file has the SM", "sm103-armv9", "PB314", units(CUDA, "100", "103a")),
    Fault("no device code", "sm80-armv8_2", "PB314", without_device_code),
]

PTX = [
    Fault("only PTX", "sm121-armv9", "PB315", units(CUDA, "ptx80")),
    Fault("only PTX of its own SM", "sm75-avx512", "PB315", units(CUDA, "ptx75")),
    Fault("only PTX in NCCL", "sm120-avx2", "PB315", units(NCCL, "ptx80")),
    Fault("only PTX in cuDNN", "sm103-armv9", "PB315", units(GRAPH, "ptx100")),
    Fault("PTX beside the machine code", "sm89-avx2", "PB317", units(CUDA, ("89", "ptx89"))),
]

MORE_SMS = [
    Fault("one more SM", "sm75-avx512vnni", "PB316", units(CUDA, ("75", "80"))),
    Fault(
        "the SMs of a wheel", "sm90-armv9", "PB316", units(CUDA, ("90", "75", "80", "86", "100", "120"), ("90", "90a"))
    ),
    Fault("sm_121 beside sm_120", "sm120-avx512bf16", "PB316", units(CUDA, ("120", "121"))),
    Fault("one more SM in libtorch_cuda_linalg.so", "sm86-armv8_2", "PB316", units(LINALG, ("86", "80"))),
    Fault("another SM's a file", "sm100-armv8_2", "PB316", units(CUDA, ("100", "100a"), ("100", "90a"))),
]

SUFFIX = [
    Fault("no sm_90a, which wgmma needs", "sm90-avx512vnni", "PB323", only_its_own),
    Fault("no sm_100a, which tcgen05 needs", "sm100-avx512", "PB323", only_its_own),
    Fault("no sm_103a, which tcgen05 needs", "sm103-armv8_2", "PB323", only_its_own),
    Fault("no sm_110a, which tcgen05 needs", "sm110-armv9", "PB323", only_its_own),
]

TRAPS = [
    Fault("a guard __CUDA_ARCH__ == 1200 on 12.1", "sm121-armv8_2", "PB320", trapping("1200")),
    Fault("a kernel that became a trap", "sm80-avx512", "PB320", trapping("900")),
    Fault("a kernel that became a trap", "sm103-avx2", "PB320", trapping("1000")),
]

THEIRS = [
    Fault("NCCL for another SM", "sm90-avx512bf16", "PB318", units(NCCL, "80"), beside=frozenset({"PB319"})),
    Fault("MAGMA for another SM", "sm120-armv8_2", "PB318", units(MAGMA, "90"), beside=frozenset({"PB319"})),
    Fault("cuDNN for another SM", "sm100-armv9", "PB318", units(GRAPH, "90"), beside=frozenset({"PB319"})),
    Fault(
        "cuBLAS for another SM",
        "sm75-avx512bf16",
        "PB318",
        units("torch/lib/libcublas.so.13", "80"),
        beside=frozenset({"PB319"}),
    ),
    Fault("cuDNN 9.11 before SM 7.5", "sm75-armv9", "PB318", units(GRAPH, "80", "90"), beside=frozenset({"PB319"})),
    Fault("NCCL with a list of its own", "sm80-armv9", "PB319", units(NCCL, ("80", "90", "100"))),
    Fault(
        "NCCL with its own list linked in", "sm90-armv8_2", "PB319", link_static_library("nccl", ("90", "80", "100"))
    ),
    Fault(
        "NCCL without the SM linked in",
        "sm103-avx512vnni",
        "PB314",
        link_static_library("nccl", ("80", "90")),
        beside=frozenset({"PB319"}),
    ),
]


def add_older_unit(build: Build, parts: Parts) -> Build:
    """One file more."""
    return build.but({CUDA: get_library(build, CUDA).but(units=(*parts.cuda_units(), OLDER))})


def all_by_an_older_toolkit(build: Build, parts: Parts) -> Build:
    return build.but({CUDA: get_library(build, CUDA).but(units=(OLDER,))})


PASCAL = "pytorch-python313-cuda12_{}-sm61-{}"
TOOLKITS = [
    Fault("one file by CUDA 12.9", "sm120-avx512", "PB321", add_older_unit),
    Fault("libtorch_cuda.so by CUDA 12.9", "sm120-avx2", "PB322", all_by_an_older_toolkit),
    Fault("cubins by CUDA 12.9 for the line of 12.8", PASCAL.format(8, "avx2"), "PB322", lambda build, _: build),
    Fault("cubins by CUDA 12.9 for the line of 12.8", PASCAL.format(8, "avx"), "PB322", lambda build, _: build),
    Fault("torch of the line before", PASCAL.format(9, "avx2"), "PB105", says(version="2.8.0")),
]

FAULTS = [*TOOLKITS, *ANOTHER_SM, *PTX, *MORE_SMS, *SUFFIX, *TRAPS, *THEIRS]
