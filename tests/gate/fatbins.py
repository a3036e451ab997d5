# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Reads fatbins and writes others: what a careless or hostile build may hold, and no compiler writes.

A fatbin is a row of containers, one a translation unit; a container is a row of entries. All of them are values: what
changes one returns another. As NVIDIA's tools write them: CUDA 11.8 to 13.0 (docs of the format: none are public).
"""

from __future__ import annotations

import ctypes
import ctypes.util
import dataclasses
import functools
import hashlib
import pathlib
import struct
from collections.abc import Callable, Iterable

import elves
import pytest
from made import OUT, compiler, kept, made, text

PTX, CUBIN, OLD_CUBIN, LTO_IR = 1, 2, 4, 8  # kinds of entries
NONE, LZ4, ZSTD = "none", "lz4", "zstd"

MAGIC = 0xBA55ED50
CONTAINER = struct.Struct("<IHHQ")  # magic, version, bytes of this header, bytes behind it
HEADER = struct.Struct("<HHIQIIHHIIIQQQ")
OPTIONS = struct.Struct("<II")  # where they begin, and their bytes
FIELDS = (
    "kind",
    "version",
    "header_bytes",
    "padded_bytes",
    "compressed_bytes",  # 0: not compressed
    "options",  # offset of further fields from the entry's start
    "minor",
    "major",
    "number",  # 90, 121
    "name",
    "name_bytes",
    "flags",
    "reserved",
    "uncompressed_bytes",
)
SIXTY_FOUR_BITS, LINUX = 0x1, 0x10
LZ4_FLAG, ZSTD_FLAG = 0x2000, 0x8000
SUFFIXES = {"": 0, "a": 0x100000, "f": 0x200000}
ANY_SUFFIX = SUFFIXES["a"] | SUFFIXES["f"]
COMPRESSIONS = {NONE: 0, LZ4: LZ4_FLAG, ZSTD: ZSTD_FLAG}
COMPATIBLE = 0x1000000  # its header repeats what .nv.compat says, as on every cubin since SM 10.0
SCRAMBLED = 0x10000  # LTO-IR that is compressed: no zstd frame can be seen then
VERSION = 0x0101


@functools.cache
def library(name: str) -> ctypes.CDLL:
    """The program itself is built with these two: set-up installs them."""
    found = ctypes.util.find_library(name) or pytest.skip(f"no lib{name}")
    return ctypes.CDLL(found)


def called(name: str, function: str, *arguments: object, result: type = ctypes.c_size_t) -> int:
    function = getattr(library(name), function)
    function.restype = result
    return function(*arguments)


def size(value: int) -> ctypes.c_size_t:
    return ctypes.c_size_t(value)


def compressed(content: bytes, by: str, level: int = 3) -> bytes:
    """A zstd frame that tells its size, or a raw LZ4 block, as nvcc writes them."""
    if by == NONE:
        return content
    if by == ZSTD:
        room = ctypes.create_string_buffer(called("zstd", "ZSTD_compressBound", size(len(content))))
        taken = called("zstd", "ZSTD_compress", room, size(len(room)), content, size(len(content)), level)
        failed = called("zstd", "ZSTD_isError", size(taken), result=ctypes.c_uint)
    else:
        room = ctypes.create_string_buffer(called("lz4", "LZ4_compressBound", len(content), result=ctypes.c_int))
        taken = called("lz4", "LZ4_compress_default", content, room, len(content), len(room), result=ctypes.c_int)
        failed = taken <= 0
    if failed:
        raise ValueError(f"{by} does not compress {len(content)} bytes")
    return room.raw[:taken]


def uncompressed(stored: bytes, by: str, length: int) -> bytes:
    if by == NONE:
        return stored
    room = ctypes.create_string_buffer(length)
    if by == ZSTD:
        made = called("zstd", "ZSTD_decompress", room, size(length), stored, size(len(stored)))
    else:
        made = called("lz4", "LZ4_decompress_safe", stored, room, len(stored), length, result=ctypes.c_int)
    if made != length:
        raise ValueError(f"{length} bytes of {by} are announced, and not there")
    return room.raw


def padded(content: bytes, to: int = 8) -> bytes:
    return content + bytes(-len(content) % to)


@dataclasses.dataclass(frozen=True)
class Entry:
    """An entry for one SM: header and stored bytes, without padding."""

    header: bytes
    stored: bytes

    def field(self, name: str) -> int:
        return HEADER.unpack_from(self.header)[FIELDS.index(name)]

    def set_fields(self, **values: int) -> Entry:
        """Other values in the header, true or not."""
        fields = dict(zip(FIELDS, HEADER.unpack_from(self.header), strict=True)) | values
        header = HEADER.pack(*fields.values()) + self.header[HEADER.size :]
        return dataclasses.replace(self, header=header)

    @property
    def kind(self) -> int:
        return self.field("kind")

    @property
    def number(self) -> int:
        return self.field("number")

    @property
    def suffix(self) -> str:
        flags = self.field("flags") & ANY_SUFFIX
        return next(suffix for suffix, flag in SUFFIXES.items() if flag == flags)

    @property
    def compression(self) -> str:
        flags = self.field("flags")
        return ZSTD if flags & ZSTD_FLAG else LZ4 if flags & LZ4_FLAG else NONE

    @property
    def sm(self) -> str:
        """The label: "90a"."""
        return f"{self.number}{self.suffix}"

    @property
    def content(self) -> bytes:
        return uncompressed(self.stored, self.compression, self.field("uncompressed_bytes"))

    def relabelled(self, sm: str) -> Entry:
        """Another SM only on the label: "103a"."""
        number = int(sm.rstrip("af"))
        flags = self.field("flags") & ~ANY_SUFFIX | SUFFIXES[sm[len(str(number)) :]]
        return self.set_fields(number=number, flags=flags)

    def holding(self, content: bytes, compression: str | None = None, level: int = 3) -> Entry:
        """Another content behind the same label, compressed as before unless asked otherwise."""
        by = self.compression if compression is None else compression
        stored = compressed(content, by, level)
        flags = self.field("flags") & ~(LZ4_FLAG | ZSTD_FLAG) | COMPRESSIONS[by]
        return dataclasses.replace(self, stored=stored).set_fields(
            padded_bytes=len(padded(stored)),
            compressed_bytes=0 if by == NONE else len(stored),
            uncompressed_bytes=0 if by == NONE else len(content),
            flags=flags,
        )

    def set_compression(self, compression: str, level: int = 3) -> Entry:
        return self.holding(self.content, compression, level)

    def storing(self, stored: bytes) -> Entry:
        """Stores other bytes, such as a frame that breaks off, or none. The label keeps what it announces."""
        length = 0 if self.compression == NONE else len(stored)
        changed = dataclasses.replace(self, stored=stored)
        return changed.set_fields(padded_bytes=len(padded(stored)), compressed_bytes=length)

    def roomier(self, by: int) -> Entry:
        """More zeros behind it."""
        return self.set_fields(padded_bytes=self.field("padded_bytes") + by)

    def written(self) -> bytes:
        return self.header + self.stored.ljust(self.field("padded_bytes"), b"\0")


def entry(content: bytes, sm: str, kind: int = CUBIN, compression: str = NONE, version: str = "1.8") -> Entry:
    """Makes an entry. `version`: 1.8 for cubins since CUDA 13 and 1.7 before; for PTX its ISA."""
    if kind == PTX:
        content = content.rstrip(b"\0") + b"\0"  # a text that ends with a zero, as in C
    major, minor = (int(part) for part in version.split("."))
    flags = SIXTY_FOUR_BITS | LINUX
    options = make_entry_options(content, sm, kind)
    if options:
        flags |= COMPATIBLE if kind == CUBIN else 0
    at = HEADER.size if options else 0
    blank = HEADER.pack(kind, VERSION, HEADER.size + len(options), 0, 0, at, minor, major, 0, 0, 0, flags, 0, 0)
    return Entry(blank + options, b"").relabelled(sm).holding(content, compression)


def make_entry_options(content: bytes, sm: str, kind: int) -> bytes:
    """Returns what cuobjdump expects behind the header: options for PTX, .nv.compat for a cubin since SM 10.0."""
    if kind == PTX:
        return padded(OPTIONS.pack(HEADER.size + OPTIONS.size, 0), 16)
    if kind != CUBIN or int(sm.rstrip("af")) < 100 or content[:4] != b"\x7fELF":
        return b""
    reported = elves.get_section_bytes(content, ".nv.compat")
    return padded(OPTIONS.pack(HEADER.size + OPTIONS.size, len(reported)) + b"\0" + reported)


Container = tuple[Entry, ...]


def read(content: bytes) -> tuple[Container, ...]:
    """Returns the containers of a section or of a fatbin file. Skips zeros, with which linkers align."""
    containers = []
    at = 0
    while at < len(content):
        if content[at] == 0:
            at += 1
            continue
        magic, version, header_bytes, body_bytes = CONTAINER.unpack_from(content, at)
        if (magic, version, header_bytes) != (MAGIC, 1, CONTAINER.size):
            raise ValueError(f"no fatbin container at {at:#x}")
        end = at + CONTAINER.size + body_bytes
        containers.append(tuple(entries(content, at + CONTAINER.size, end)))
        at = end
    return tuple(containers)


def entries(content: bytes, at: int, end: int) -> Iterable[Entry]:
    while at < end:
        fields = dict(zip(FIELDS, HEADER.unpack_from(content, at), strict=True))
        payload = at + fields["header_bytes"]
        length = fields["compressed_bytes"] or fields["padded_bytes"]
        yield Entry(content[at:payload], content[payload : payload + length])
        at = payload + fields["padded_bytes"]


def container(entries: Iterable[Entry]) -> bytes:
    body = b"".join(one.written() for one in entries)
    return CONTAINER.pack(MAGIC, 1, CONTAINER.size, len(body)) + body


def written(containers: Iterable[Iterable[Entry]], alignment: int = 8, before: int = 0) -> bytes:
    """Returns a section's content. `before`: zeros in front of the first container, any number."""
    content = bytearray()
    for one in containers:
        content += bytes(-len(content) % alignment) + container(one)
    return bytes(before) + bytes(content)


def made_file(name: str, content: bytes) -> pathlib.Path:
    """A file with these bytes: a fatbin called so may be a unit of a Library."""
    return kept(name, hashlib.sha256(name.encode() + b"\0" + content), lambda file: file.write_bytes(content))


def embedded(content: bytes, machine: str, section: str = ".nv_fatbin", alignment: int = 8) -> pathlib.Path:
    """An object that holds these bytes in a section of that name, among what is loaded."""
    fatbin = made_file("fatbin.bin", content)
    embedding = f'.section {section},"a"\n.balign {alignment}\n.incbin "{fatbin}"\n'
    return made("fatbin.o", compiler(machine, "gcc"), "-c", text("fatbin.s", embedding), "-o", OUT)


def each(containers: Iterable[Container], change: Callable[[Entry], Entry | None]) -> tuple[Container, ...]:
    """Every entry changed; None drops it, and a container without entries goes with them."""
    changed = (tuple(after for one in entries if (after := change(one)) is not None) for entries in containers)
    return tuple(entries for entries in changed if entries)
