# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Cubins changed: kernels emptied, cut to traps or taken away, and other SMs in the ELF itself."""

from __future__ import annotations

import struct

import elves

WORD = struct.Struct("<QQ")  # an instruction since SM 7.0
EXIT = WORD.pack(0x000000000000794D, 0x000FEA0003800000)
NOP = WORD.pack(0x0000000000007918, 0x000FC00000000000)
TRAP = WORD.pack(0x000000040000795C, 0x000FEA0000300000)
EXIT_OPCODE = 0x94D
ABI_OF_CUDA_13 = 8
TEXT = ".text."


def kernels(cubin: bytes) -> dict[str, bytes]:
    """The code of each kernel, by its name."""
    found = [one for one in elves.sections(cubin) if one.name.startswith(TEXT)]
    return {one.name.removeprefix(TEXT): cubin[one.offset : one.end] for one in found}


def replace_kernel_code(cubin: bytes, kernel: str, code: bytes) -> bytes:
    """Other code in that kernel's place, as long as it fits."""
    one = elves.section(cubin, TEXT + kernel)
    if len(code) > one.size:
        raise ValueError(f"{kernel} has {one.size} bytes, {len(code)} are too many")
    return elves.put(cubin, one.offset, code)


def emptied(cubin: bytes, first: bytes = EXIT, rest: bytes = NOP) -> bytes:
    """Every kernel is one instruction, and as long as before."""
    for name, code in kernels(cubin).items():
        cubin = replace_kernel_code(cubin, name, first + rest * (len(code) // WORD.size - 1))
    return cubin


def trapping(cubin: bytes) -> bytes:
    return emptied(cubin, first=TRAP)


def trapping_at_the_end(cubin: bytes) -> bytes:
    """Every kernel loads, computes and stores, and then traps instead of exiting."""
    for name, code in kernels(cubin).items():
        words = [code[at : at + WORD.size] for at in range(0, len(code), WORD.size)]
        words = [TRAP if WORD.unpack(word)[0] & 0xFFF == EXIT_OPCODE else word for word in words]
        cubin = replace_kernel_code(cubin, name, b"".join(words))
    return cubin


def without_kernels(cubin: bytes) -> bytes:
    """Moves the code into sections that belong to no kernel."""
    for name in kernels(cubin):
        cubin = elves.renamed(cubin, TEXT + name, ".nv.unused." + name)
    return cubin


def without_code(cubin: bytes) -> bytes:
    """Keeps the kernels without a byte of code."""
    for name in kernels(cubin):
        cubin = elves.change_section_header(cubin, elves.section(cubin, TEXT + name), size=0)
    return cubin


def sections_behind_end(cubin: bytes) -> bytes:
    """The table of sections is where the file has ended."""
    return elves.put_number(cubin, elves.E_SHOFF, len(cubin) + 64, "Q")


def symbols_behind_end(cubin: bytes) -> bytes:
    return elves.change_section_header(cubin, elves.section(cubin, ".symtab"), offset=len(cubin) + 64)


def code_behind_end(cubin: bytes) -> bytes:
    name = next(iter(kernels(cubin)))
    return elves.change_section_header(cubin, elves.section(cubin, TEXT + name), offset=len(cubin) + 64)


def too_many_sections(cubin: bytes) -> bytes:
    return elves.put_number(cubin, elves.E_SHNUM, 0xFEFF, "H")


def number(cubin: bytes) -> int:
    """The SM that the ELF itself says, without suffix."""
    flags = elves.header(cubin)[7]
    return flags >> 8 & 0xFF if cubin[8] >= ABI_OF_CUDA_13 else flags & 0xFF


def put_number(cubin: bytes, sm: int) -> bytes:
    """Another SM in the ELF's own flags, around the same code."""
    flags = elves.header(cubin)[7]
    shift = 8 if cubin[8] >= ABI_OF_CUDA_13 else 0
    return elves.put_number(cubin, elves.E_FLAGS, flags & ~(0xFF << shift) | sm << shift, "I")
