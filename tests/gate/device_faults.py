# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Faults inside device code, which no compiler makes: entries that are not what they say, kernels that do nothing."""

from __future__ import annotations

import functools
import hashlib
import pathlib
from collections.abc import Callable

import cubins
import fatbins
from faults import Change, Fault, get_library, without
from small_builds import Build
from variants import CUDA, GRAPH, LINALG, MAGMA, NCCL, TORCH, Parts, fatbin, target, variants

OPS = TORCH + "libcudnn_ops.so.9"
ByEntry = Callable[[fatbins.Entry], fatbins.Entry]


def changed(unit: pathlib.Path, change: ByEntry) -> pathlib.Path:
    """The unit with each of its entries changed."""
    content = fatbins.written(fatbins.each(fatbins.read(unit.read_bytes()), change))
    return fatbins.made_file(unit.name, content)


def first_unit(path: str, change: ByEntry) -> Change:
    """Changes the entries of the library's first unit."""

    def planted(build: Build, _: Parts) -> Build:
        library = get_library(build, path)
        return build.but({path: library.but(units=(changed(library.units[0], change), *library.units[1:]))})

    return planted


def every_unit(path: str, change: ByEntry) -> Change:
    def planted(build: Build, _: Parts) -> Build:
        library = get_library(build, path)
        return build.but({path: library.but(units=tuple(changed(unit, change) for unit in library.units))})

    return planted


def more_units(*units: Callable[[Parts], pathlib.Path]) -> Change:
    def planted(build: Build, parts: Parts) -> Build:
        own = get_library(build, CUDA)
        return build.but({CUDA: own.but(units=(*own.units, *(unit(parts) for unit in units)))})

    return planted


def around(number: str) -> ByEntry:
    """The label stays, and around what was made for another SM."""
    return lambda one: one.holding(fatbins.read(fatbin(number).read_bytes())[0][0].content)


def emptied_if(sm: str) -> ByEntry:
    return lambda one: one.holding(cubins.emptied(one.content)) if one.sm == sm else one


def one_more_of_cudnn(*cubins_of: str) -> Change:
    """Beside one that is whole."""
    return lambda build, _: build.but({OPS: get_library(build, GRAPH).but(units=tuple(map(fatbin, cubins_of)))})


def holding(content: bytes) -> ByEntry:
    return lambda one: one.holding(content, fatbins.NONE)


def random_bytes(one: fatbins.Entry) -> fatbins.Entry:
    """Replaces the stored bytes by as many random ones, behind the same header."""
    seed = hashlib.sha256(one.stored).digest()
    return one.storing((seed * (len(one.stored) // len(seed) + 1))[: len(one.stored)])


def change_content(change: Callable[[bytes], bytes]) -> ByEntry:
    return lambda one: one.holding(change(one.content))


def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def other_text(one: fatbins.Entry) -> fatbins.Entry:
    """PTX for another SM than its header says."""
    return one.holding(one.content.replace(f".target sm_{one.number}".encode(), b".target sm_75"))


def truncated_text(one: fatbins.Entry) -> fatbins.Entry:
    """PTX up to the middle of its function."""
    if one.kind != fatbins.PTX:
        return one
    return one.holding(one.content[: one.content.rindex(b"{") + 20] + b"\0")


@functools.cache
def numbers() -> dict[str, str]:
    """A variant of each SM."""
    named = {facts["gpu"]: name for name, facts in variants().items() if facts["gpu"]}
    return {target(gpu)["capability"].replace(".", ""): name for gpu, name in named.items()}


def foreign(number: str) -> str:
    return "80" if number != "80" else "90"


def renamed_library(name: str) -> Change:
    """libtorch_cuda.so under another name, beside a stub of it."""

    def planted(build: Build, _: Parts) -> Build:
        own = get_library(build, CUDA)
        return build.but({TORCH + name: own.but(needs=()), CUDA: own.but(units=())})

    return planted


def make_entry_unit(kind: int, number: str) -> Callable[[Parts], pathlib.Path]:
    """A unit that holds nothing but PTX or LTO-IR."""

    def unit(parts: Parts) -> pathlib.Path:
        if kind == fatbins.PTX:
            return fatbin(f"ptx{number}")
        content = b"\xed\x43\x4e\x7f" + bytes(124)
        return fatbins.made_file("lto.fatbin", fatbins.written([(fatbins.entry(content, number, kind),)]))

    return unit


# On each SM: the variant's own entries around code of another SM, and kernels that are gone.
def faults_of_each_sm() -> list[Fault]:
    faults = []
    for number, name in numbers().items():
        other = foreign(number)
        faults += [
            Fault(f"sm_{number} entries around sm_{other}", name, "PB330", first_unit(CUDA, around(other))),
            Fault("kernels of one instruction", name, "PB332", every_unit(CUDA, change_content(cubins.emptied))),
            Fault("cubins without kernels", name, "PB332", every_unit(CUDA, change_content(cubins.without_kernels))),
        ]
    return faults


ENTRIES = [
    Fault("text as a cubin", "sm121-armv9", "PB330", first_unit(CUDA, holding(b"not a cubin at all\n" * 200))),
    Fault(
        "a program as a cubin", "sm90-avx2", "PB330", first_unit(CUDA, holding(pathlib.Path("/bin/true").read_bytes()))
    ),
    Fault("random bytes in the place of a frame", "sm75-armv9", "PB330", first_unit(CUDA, random_bytes)),
    Fault("a cubin that breaks off", "sm103-avx2", "PB330", first_unit(CUDA, change_content(half))),
    *(
        Fault(what, variant, "PB330", first_unit(CUDA, change_content(change)))
        for what, variant, change in (
            ("a cubin's sections behind its end", "sm90-avx512", cubins.sections_behind_end),
            ("a cubin's symbols behind its end", "sm80-armv9", cubins.symbols_behind_end),
            ("a cubin's code behind its end", "sm121-armv9", cubins.code_behind_end),
            ("a cubin with too many sections", "sm75-avx2", cubins.too_many_sections),
        )
    ),
    Fault(
        "PTX that ends inside a function",
        "sm89-avx2",
        "PB330",
        more_units(lambda _: changed(fatbin("89", "ptx89"), truncated_text)),
        beside=frozenset({"PB317"}),
    ),
    Fault("sm_120 cubins labelled sm_103", "sm103-armv9", "PB330", every_unit(CUDA, around("120"))),
    Fault(
        "plain sm_90 code labelled sm_90a", "sm90-armv9", "PB330", first_unit(CUDA, lambda one: one.relabelled("90a"))
    ),
    Fault("plain code labelled 120f", "sm120-avx2", "PB330", first_unit(CUDA, lambda one: one.relabelled("120f"))),
    Fault(
        "code of sm_100a labelled sm_100",
        "sm100-avx512",
        "PB330",
        every_unit(CUDA, lambda one: one.relabelled(str(one.number))),
        beside=frozenset({"PB323"}),
    ),
    Fault(
        "a cubin labelled PTX",
        "sm86-avx2",
        "PB330",
        every_unit(LINALG, lambda one: one.set_fields(kind=fatbins.PTX)),
        beside=frozenset({"PB315"}),
    ),
    Fault(
        "a cubin labelled LTO-IR",
        "sm80-avx2",
        "PB330",
        every_unit(LINALG, lambda one: one.set_fields(kind=fatbins.LTO_IR)),
        beside=frozenset({"PB315"}),
    ),
    Fault(
        "PTX of another SM",
        "sm89-avx2",
        "PB330",
        lambda build, parts: first_unit(CUDA, lambda one: one)(
            more_units(
                lambda _: changed(
                    fatbin("89", "ptx89"), lambda one: other_text(one) if one.kind == fatbins.PTX else one
                )
            )(build, parts),
            parts,
        ),
        beside=frozenset({"PB317"}),
    ),
    Fault("NCCL's entries around another SM", "sm110-armv9", "PB330", every_unit(NCCL, around("80"))),
]

UNITS = [
    Fault(
        "units of only PTX beside machine code",
        "sm121-armv8_2",
        "PB314",
        more_units(make_entry_unit(fatbins.PTX, "121")),
        beside=frozenset({"PB317"}),
    ),
    Fault(
        "units of only LTO-IR beside machine code",
        "sm90-avx512",
        "PB314",
        more_units(make_entry_unit(fatbins.LTO_IR, "90")),
    ),
]

LIBRARY = [
    Fault("no libtorch_cuda.so", "sm90-avx2", "PB331", without(CUDA), beside=frozenset({"PB126", "PB115"})),
    Fault("its kernels in libATen_cuda.so", "sm80-avx512", "PB331", renamed_library("libATen_cuda.so")),
]

IDLE = [
    Fault(
        "kernels that trap at once",
        "sm86-armv9",
        "PB332",
        every_unit(CUDA, change_content(cubins.trapping)),
        beside=frozenset({"PB320"}),
    ),
    Fault(
        "kernels that load, store and trap",
        "sm120-armv9",
        "PB332",
        every_unit(CUDA, change_content(cubins.trapping_at_the_end)),
    ),
    *(
        Fault(f"the few kernels of sm_{suffixed} emptied", name, "PB332", every_unit(CUDA, emptied_if(suffixed)))
        for suffixed, name in (
            ("90a", "sm90-avx2"),
            ("100a", "sm100-armv9"),
            ("103a", "sm103-armv8_2"),
            ("110a", "sm110-armv9"),
        )
    ),
    Fault("MAGMA's kernels emptied", "sm121-armv9", "PB332", every_unit(MAGMA, change_content(cubins.emptied))),
    Fault("cuDNN's kernels emptied", "sm75-avx2", "PB332", every_unit(GRAPH, change_content(cubins.emptied))),
    Fault(
        "MAGMA without device code",
        "sm100-armv9",
        "PB318",
        lambda build, _: build.but({MAGMA: get_library(build, MAGMA).but(units=())}),
    ),
    Fault(
        "NCCL without device code",
        "sm90-avx512bf16",
        "PB318",
        lambda build, _: build.but({NCCL: get_library(build, NCCL).but(units=())}),
    ),
    Fault("one file of cuDNN without device code", "sm120-avx2", "PB318", one_more_of_cudnn()),
    Fault(
        "one file of cuDNN pruned to another SM",
        "sm90-armv9",
        "PB318",
        one_more_of_cudnn("80"),
        beside=frozenset({"PB319"}),
    ),
]

FAULTS = [*faults_of_each_sm(), *ENTRIES, *UNITS, *LIBRARY, *IDLE]
