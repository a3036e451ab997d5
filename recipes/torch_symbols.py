#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Writes recipes/torch_symbols.json: digests of the symbols that each release of torch exports.

    recipes/torch_symbols.py VERSION…         downloads the wheels for Python 3.11 on x86_64, one at a time
    recipes/torch_symbols.py --read PATH…     reads local wheels, or folders with a torch/

Name all releases at once: each row has the symbols of one set of releases.
"""

from __future__ import annotations

import argparse
import base64
import collections
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

FILE = pathlib.Path(__file__).with_name("torch_symbols.json")
LIBRARY = re.compile(r"(?:.*/)?torch/lib/lib(c10|shm|torch)[^/]*\.so$")
# Selects names as core/torch_names.cpp does; tests/core/torch_names.json has examples for both. The grammar follows the
# Itanium C++ ABI, 5.1: special and local names, then a nested or an unscoped name.
NAMESPACES = ("c10", "c10d", "at", "torch", "caffe2")
OFFSET = r"(?:hn?\d+_|vn?\d+_n?\d+_)"
ENTITY = re.compile(rf"_Z(?:T[VTISCWHAFJ]|GV|GR|GT[tn]|T{OFFSET}|Tc{OFFSET}{OFFSET}|Z)*")
NESTED = re.compile(r"NH?[rVK]*[RO]*")
LENGTH = re.compile(r"L?(\d+)")
TYPE = re.compile(r"N(?:3c10|4c10d|2at|5torch|6caffe2)(?![a-z_])(?=.)")
SLOTS = 4096  # for each symbol: one in SLOTS unknown names is mistaken for a known symbol


def classify(name: str) -> str:
    """Returns "stable", "member", "signature" or "none", as classify_torch_name() does."""
    if name.startswith("THP"):
        return "member"
    if name.startswith(("aoti_torch_", "torch_")):
        return "stable"
    start = ENTITY.match(name)
    if not start:
        return "none"
    nested = NESTED.match(name, start.end())
    at = nested.end() if nested else start.end()
    if nested and name.startswith("Z", at):
        return classify("_Z" + name[at:])
    length = LENGTH.match(name, at)
    first = name[length.end() : length.end() + int(length[1])] if length else ""
    if length and len(first) < int(length[1]):
        return "none"
    if (nested and first in NAMESPACES) or first.startswith("THP"):
        return "member"
    return "signature" if TYPE.search(name) else "none"


def select(lines: list[str]) -> set[str]:
    """Returns torch's names in the output of nm. Weak signatures, which others instantiate too, are left out."""
    names = set()
    for line in lines:
        *_, letter, name = line.split()
        name = name.split("@")[0]
        kind = classify(name)
        if kind in ("stable", "member") or (kind == "signature" and letter not in "WVu"):
            names.add(name)
    return names


def exported(files: list[pathlib.Path]) -> set[str]:
    names = set()
    for file in files:
        done = subprocess.run(["nm", "-D", "--defined-only", file], capture_output=True, text=True, check=True)
        names |= select(done.stdout.splitlines())
    return names


def read(path: pathlib.Path) -> tuple[str, set[str]]:
    """Reads the version and the symbols of a torch."""
    with tempfile.TemporaryDirectory() as folder:
        root = path
        if path.suffix == ".whl":
            root = pathlib.Path(folder)
            with zipfile.ZipFile(path) as wheel:
                names = [name for name in wheel.namelist() if LIBRARY.match(name) or name == "torch/version.py"]
                wheel.extractall(root, names)
        version = re.search(r"__version__ = '([\d.]+)", (root / "torch/version.py").read_text())[1]
        return version, exported([file for file in root.glob("torch/lib/*.so") if LIBRARY.match(str(file))])


def fetched(version: str) -> tuple[str, set[str]]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        platform = ["--python-version", "3.11", "--platform", "manylinux_2_28_x86_64"]
        subprocess.run([*command, *platform, "--dest", folder, f"torch=={version}"], check=True)
        (wheel,) = pathlib.Path(folder).glob("torch-*.whl")
        return read(wheel)


def varint(number: int) -> bytes:
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def digest(name: str, slots: int) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % slots


def table(releases: dict[str, set[str]]) -> dict:
    versions = sorted(releases, key=lambda version: [int(part) for part in version.split(".")])
    groups = collections.defaultdict(list)
    every = set().union(*releases.values())
    for name in every:
        groups[tuple(version for version in versions if name in releases[version])].append(name)
    slots = SLOTS * len(every)
    rows = []
    for having, names in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        at = sorted({digest(name, slots) for name in names})
        gaps = b"".join(varint(b - a) for a, b in zip([0, *at], at, strict=False))
        rows.append({"releases": having, "symbols": len(at), "gaps": base64.b64encode(gaps).decode()})
    return {"schema": "pbprobe.torch_symbols/1", "releases": versions, "slots": slots, "groups": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--read", action="store_true")
    parser.add_argument("what", nargs="+")
    arguments = parser.parse_args()
    releases = dict(read(pathlib.Path(path)) if arguments.read else fetched(path) for path in arguments.what)
    FILE.write_text(json.dumps(table(releases), indent=1) + "\n")


if __name__ == "__main__":
    main()
