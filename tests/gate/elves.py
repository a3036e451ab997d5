# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ELF files changed byte by byte: shared objects and cubins, 64 bits, little-endian (gABI, chapters 4 and 5)."""

from __future__ import annotations

import dataclasses
import pathlib
import shutil
import struct

import pytest
from made import OUT, made

FILE_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SEGMENT = struct.Struct("<IIQQQQQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQq")
SHT_NOBITS, SHF_ALLOC, SHF_EXECINSTR = 8, 2, 4
PT_NULL, PT_LOAD, PT_DYNAMIC, PT_NOTE, PT_GNU_STACK = 0, 1, 2, 4, 0x6474E551
ET_EXEC = 2
PF_X, PF_R = 1, 4
STT_NOTYPE, STT_OBJECT, STT_FUNC = 0, 1, 2
RELATIVE = {62: 8, 183: 1027}  # R_X86_64_RELATIVE, R_AARCH64_RELATIVE
IRELATIVE = {62: 37, 183: 1032}
PAGE = 0x10000  # of both processors' linkers at most
MACHINES = {"x86_64": 62, "aarch64": 183, "cuda": 190}
EI_OSABI, E_TYPE, E_MACHINE, E_FLAGS, E_PHOFF, E_SHOFF, E_SHNUM = 7, 16, 18, 48, 32, 40, 60


@dataclasses.dataclass(frozen=True)
class Section:
    index: int
    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size


def header(content: bytes) -> tuple[int, ...]:
    if content[:5] != b"\x7fELF\x02":
        raise ValueError("no ELF of 64 bits")
    return FILE_HEADER.unpack_from(content)


def sections(content: bytes) -> list[Section]:
    _, _, _, _, _, _, start, _, _, _, _, _, count, names = header(content)
    if start > len(content):
        raise ValueError("its section headers begin behind its end")
    rows = [SECTION.unpack_from(content, start + index * SECTION.size) for index in range(count)]
    table = rows[names][4] if rows else 0
    found = []
    for index, (name, kind, flags, address, offset, size, *_) in enumerate(rows):
        end = content.find(b"\0", table + name)
        found.append(Section(index, content[table + name : end].decode(), kind, flags, address, offset, size))
    return found


def section(content: bytes, name: str) -> Section:
    return next(one for one in sections(content) if one.name == name)


def get_section_bytes(content: bytes, name: str) -> bytes:
    one = section(content, name)
    return b"" if one.kind == SHT_NOBITS else content[one.offset : one.end]


def put(content: bytes, at: int, other: bytes) -> bytes:
    return content[:at] + other + content[at + len(other) :]


def put_number(content: bytes, at: int, value: int, kind: str) -> bytes:
    return put(content, at, struct.pack("<" + kind, value))


def change_section_header(content: bytes, one: Section, **values: int) -> bytes:
    """Other values in its header: name, kind, flags, address, offset, size, link, info, alignment, entry."""
    names = ("name", "kind", "flags", "address", "offset", "size", "link", "info", "alignment", "entry")
    at = header(content)[6] + one.index * SECTION.size
    row = dict(zip(names, SECTION.unpack_from(content, at), strict=True)) | values
    return put(content, at, SECTION.pack(*row.values()))


def replace_section_bytes(content: bytes, name: str, other: bytes) -> bytes:
    """Another content of that section: in its place, else behind the file's end, in a segment of its own."""
    one = section(content, name)
    if len(other) <= one.size:
        return change_section_header(put(content, one.offset, other.ljust(one.size, b"\0")), one, size=len(other))
    return moved(content, name, other)


def moved(content: bytes, name: str, other: bytes) -> bytes:
    """Moves a section behind the file's end. A loaded section gets a further PT_LOAD."""
    one = section(content, name)
    offset = -(-len(content) // PAGE) * PAGE
    address = 0
    if one.flags & SHF_ALLOC:
        changed, address = add_segment(content, other, PF_R)
    else:
        changed = content.ljust(offset, b"\0") + other
    changed = put(changed, one.offset, bytes(one.size))
    return change_section_header(changed, one, offset=offset, address=address, size=len(other))


def segments(content: bytes) -> list[tuple[int, tuple[int, ...]]]:
    """Returns the program headers, each after its place in the file."""
    _, _, _, _, _, start, _, _, _, _, count, *_ = header(content)
    places = [start + index * SEGMENT.size for index in range(count)]
    return [(place, SEGMENT.unpack_from(content, place)) for place in places]


def loaded(content: bytes) -> list[tuple[int, int]]:
    return [(row[3], row[6]) for _, row in segments(content) if row[0] == PT_LOAD]


def spare_segment(content: bytes) -> int:
    """Returns the place of a program header that may be replaced. PT_LOADs must stay in order, so it takes the last."""
    spare = [place for place, row in segments(content) if row[0] in (PT_NOTE, PT_GNU_STACK)]
    if not spare:
        raise ValueError("no segment to spare")
    return spare[-1]


def renamed(content: bytes, name: str, other: str) -> bytes:
    """The section under another name; the table of names moves behind the file's end."""
    one = section(content, name)
    table = sections(content)[header(content)[13]]
    names = content[table.offset : table.end] + other.encode() + b"\0"
    changed = change_section_header(content + names, table, offset=len(content), size=len(names))
    return change_section_header(changed, one, name=table.size)


def without_sections(content: bytes) -> bytes:
    """No section headers: what the loader needs is left."""
    changed = put_number(content, E_SHOFF, 0, "Q")
    return put(changed, E_SHNUM, bytes(4))


def set_machine(content: bytes, machine: str) -> bytes:
    return put_number(content, E_MACHINE, MACHINES[machine], "H")


def set_freebsd_abi(content: bytes) -> bytes:
    """EI_OSABI of another system."""
    return put(content, EI_OSABI, b"\x09")


def set_program_type(content: bytes) -> bytes:
    return put_number(content, E_TYPE, ET_EXEC, "H")


def without_dynamic(content: bytes) -> bytes:
    [place] = [place for place, row in segments(content) if row[0] == PT_DYNAMIC]
    return put_number(content, place, PT_NULL, "I")


def without_code(content: bytes) -> bytes:
    """No segment is executable."""
    for place, row in segments(content):
        content = put_number(content, place + 4, row[1] & ~PF_X, "I")
    return content


def objcopied(file: pathlib.Path, *options: str) -> pathlib.Path:
    """Changes a file by objcopy, as users do: --strip-debug, --rename-section .nv_fatbin=.data.cubins …"""
    machine = next(name for name, number in MACHINES.items() if header(file.read_bytes())[2] == number)
    tool = shutil.which(f"{machine}-linux-gnu-objcopy") or shutil.which("objcopy") or pytest.skip("no objcopy")
    return made(file.name, tool, *options, file, OUT)


@dataclasses.dataclass(frozen=True)
class Symbol:
    place: int  # of its row in the file
    name: str
    kind: int
    address: int
    size: int
    name_place: int


def symbols(content: bytes, *tables: str) -> list[Symbol]:
    """Returns the symbols in the tables: ".dynsym", ".symtab"."""
    rows = sections(content)
    names = {".dynsym": ".dynstr", ".symtab": ".strtab"}
    found = []
    for one in rows:
        if one.name not in tables:
            continue
        strings = next(other for other in rows if other.name == names[one.name])
        for place in range(one.offset, one.end, SYMBOL.size):
            name, info, _, _, address, size = SYMBOL.unpack_from(content, place)
            start = strings.offset + name
            end = content.index(b"\0", start)
            found.append(Symbol(place, content[start:end].decode(), info & 15, address, size, start))
    return found


def functions(content: bytes, *tables: str) -> list[Symbol]:
    return [one for one in symbols(content, *tables) if one.kind == STT_FUNC and one.address and one.size]


def find_file_offset(content: bytes, address: int) -> int:
    for _, row in segments(content):
        if row[0] == PT_LOAD and row[3] <= address < row[3] + row[5]:
            return row[2] + address - row[3]
    raise ValueError(f"nothing of the file is loaded at {address:#x}")


def relocations(content: bytes) -> list[tuple[int, int, int, int]]:
    """Returns the place in the file, address to write, kind and addend of each relocation."""
    found = []
    for one in sections(content):
        if one.name in (".rela.dyn", ".rela.plt"):
            for place in range(one.offset, one.end, RELOCATION.size):
                address, info, addend = RELOCATION.unpack_from(content, place)
                found.append((place, address, info & 0xFFFFFFFF, addend))
    return found


def replace_relocation(content: bytes, place: int, kind: int, addend: int) -> bytes:
    address, _, _ = RELOCATION.unpack_from(content, place)
    return put(content, place, RELOCATION.pack(address, kind, addend))


def add_segment(content: bytes, other: bytes, flags: int) -> tuple[bytes, int]:
    """Appends loaded bytes without a section; returns the content and their address."""
    offset = -(-len(content) // PAGE) * PAGE
    address = -(-max(start + size for start, size in loaded(content)) // PAGE) * PAGE
    row = SEGMENT.pack(PT_LOAD, flags, offset, address, address, *[len(other)] * 2, PAGE)
    return put(content, spare_segment(content), row).ljust(offset, b"\0") + other, address


def add_section(content: bytes, name: str, other: bytes, kind: int = 1, flags: int = 0) -> bytes:
    """One more section, of a name that there may be already; the table of sections moves behind the file's end."""
    rows = sections(content)
    table = rows[header(content)[13]]
    names = content[table.offset : table.end] + name.encode() + b"\0"
    content += bytes(-len(content) % 8)
    place = len(content)
    content += other + bytes(-len(other) % 8)
    at = len(content)
    content += names + bytes(-len(names) % 8)
    start = header(content)[6]
    headers = content[start : start + len(rows) * SECTION.size]
    headers += SECTION.pack(table.size, kind, flags, 0, place, len(other), 0, 0, 8, 0)
    content = put_number(content + headers, E_SHOFF, len(content), "Q")
    content = put_number(content, E_SHNUM, len(rows) + 1, "H")
    return change_section_header(content, table, offset=at, size=len(names))
