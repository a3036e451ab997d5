# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The rows of real packages: SMs and PTX are those that cuobjdump lists, torch's symbols those that nm lists.

PBPROBE_TEST_WHEELS names a folder of wheels, as `pip download --no-deps` fills it.
"""

import base64
import collections
import functools
import importlib.util
import json
import os
import pathlib
import re
import struct
import subprocess
import zipfile

import pytest
from made import PROGRAM, SOURCE

FOLDER = os.environ.get("PBPROBE_TEST_WHEELS")
WHEELS = sorted(pathlib.Path(FOLDER).glob("*.whl")) if FOLDER else []
SITE = pathlib.Path(os.environ.get("PBPROBE_TEST_TORCH", "."))
# The newest first. 13.2's refuses some files of CUDA 12.1 ("Invalid ELF"), which 12.8's lists.
CUOBJDUMPS = [os.environ.get("PBPROBE_TEST_CUOBJDUMP", ""), str(SITE / "triton/backends/nvidia/bin/cuobjdump")]

spec = importlib.util.spec_from_file_location("torch_symbols", pathlib.Path(SOURCE) / "recipes/torch_symbols.py")
torch_symbols = importlib.util.module_from_spec(spec)
spec.loader.exec_module(torch_symbols)
TABLE = json.loads(torch_symbols.FILE.read_text())

pytestmark = pytest.mark.skipif(not any(os.access(program, os.X_OK) for program in CUOBJDUMPS), reason="no cuobjdump")
each_wheel = pytest.mark.parametrize("wheel", WHEELS, ids=lambda wheel: wheel.name.split("-")[0])


def audited(*artifacts):
    command = [PROGRAM, "audit", "--distributions", "--format", "json", *artifacts]
    document = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    assert document["problems"] == []
    return document["distributions"]


@pytest.fixture(scope="module")
def rows():
    return {row["folder"]: row for row in audited(*WHEELS)}


@pytest.fixture
def files(wheel, tmp_path):
    """Shared objects and device code of the wheel, unpacked."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if re.search(r"\.(so(\.\d.*)?|cubin|fatbin)$", name)]
        archive.extractall(tmp_path, names)
    return [tmp_path / name for name in names]


def listed(option, file):
    """Returns the list of cuobjdump: {"sm_90a": 3}. It prints no suffix f."""
    for program in filter(os.path.exists, CUOBJDUMPS):
        done = subprocess.run([program, option, file], capture_output=True, text=True, check=False)
        if done.returncode == 0 or "does not contain device code" in done.stdout + done.stderr:
            return collections.Counter(re.findall(r"\.(sm_\d+a?)f?\.(?:cubin|ptx)", done.stdout))
    pytest.fail(f"no cuobjdump reads {file.name}: {done.stderr}")


SECTION = re.compile(r"\[ *\d+\] (\S+) +PROGBITS +\S+ (\S+) (\S+)")
CONSTANTS = (".nv_fatbin", "__nv_relfatbin", ".rodata", ".lrodata", ".text")
MAGIC = struct.pack("<IHH", 0xBA55ED50, 1, 16)


def elsewhere(file, kind):
    """Counts cubins in sections that cuobjdump does not read: cuBLASLt has 383 fatbins in .cask_resource."""
    counts = collections.Counter()
    content = file.read_bytes()
    table = subprocess.run(["readelf", "-SW", file], capture_output=True, text=True, check=True).stdout
    for name, offset, size in SECTION.findall(table):
        if name in CONSTANTS:
            continue
        end = int(offset, 16) + int(size, 16)
        at = content.find(MAGIC, int(offset, 16), end)
        while at >= 0:
            last = at + 16 + struct.unpack_from("<Q", content, at + 8)[0]
            entry = at + 16
            while entry < last:
                seen, _, header, body = struct.unpack_from("<HHIQ", content, entry)
                number = struct.unpack_from("<I", content, entry + 28)[0]
                suffix = "a" if struct.unpack_from("<Q", content, entry + 40)[0] & 0x100000 else ""
                counts[f"sm_{number}{suffix}"] += seen == kind
                entry += header + body
            at = content.find(MAGIC, last, end)
    return +counts


def without_family(counts):
    sums = collections.Counter()
    for name, count in counts.items():
        sums[name.removesuffix("f")] += count
    return sums


@each_wheel
def test_device_code_is_what_cuobjdump_lists(wheel, files, rows):
    row = rows[wheel.name]
    cubins, ptx = collections.Counter(), collections.Counter()
    for file in files:
        if file.suffix == ".cubin":
            flags = subprocess.run(["readelf", "-h", file], capture_output=True, text=True, check=True).stdout
            assert "NVIDIA CUDA" in flags, file
            continue
        cubins += listed("--list-elf", file)
        ptx += listed("--list-ptx", file)
    raw = sum(file.suffix == ".cubin" for file in files)
    seen = without_family(row["cubin"])
    print(f"{wheel.name}: {dict(sorted(seen.items()))}, PTX {row['ptx']}, {raw} files .cubin")
    if raw:
        assert sum(seen.values()) == sum(cubins.values()) + raw
    else:
        assert seen == cubins
    assert row["ptx"] == ptx


@functools.cache
def known_digests():
    """Digests of the names that some release exports: gaps in LEB128."""
    digests = set()
    for group in TABLE["groups"]:
        at = gap = shift = 0
        for byte in base64.b64decode(group["gaps"]):
            gap |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                at += gap
                digests.add(at)
                gap = shift = 0
    return digests


def classify_symbol(name):
    kind = torch_symbols.classify(name)
    known = kind != "signature" or torch_symbols.digest(name, TABLE["slots"]) in known_digests()
    return {"member": "cxx", "signature": "cxx"}.get(kind, kind) if known else "none"


@each_wheel
def test_torch_symbols_are_what_nm_lists(wheel, files, rows):
    row = rows[wheel.name]
    most = {"cxx": 0, "stable": 0}
    for file in files:
        if file.suffix in (".cubin", ".fatbin"):
            continue
        done = subprocess.run(["nm", "-D", "--undefined-only", file], capture_output=True, text=True, check=False)
        lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
        kinds = collections.Counter(
            classify_symbol(name) for name in {word[-1].split("@")[0] for word in lines if word[-2] == "U"}
        )
        cxx, stable = kinds["cxx"], kinds["stable"]
        most["cxx"] = max(most["cxx"], cxx)
        most["stable"] = max(most["stable"], 0 if cxx else stable)
    abi = "cxx" if most["cxx"] else "stable" if most["stable"] else "none"
    assert (row["torch_abi"], row["torch_symbols"]) == (abi, most.get(abi, 0))


@each_wheel
def test_versions_of_ptx_are_what_its_text_says(wheel, files, rows):
    highest = {}
    for file in files:
        if file.suffix == ".cubin" or not listed("--list-ptx", file):
            continue
        text = subprocess.run([CUOBJDUMPS[0], "--dump-ptx", file], capture_output=True, text=True, check=False).stdout
        for version, sm in re.findall(r"^\.version (\S+)\n\.target (sm_\d+[af]?)", text, re.MULTILINE):
            number = tuple(map(int, version.split(".")))
            highest[sm] = max(highest.get(sm, (0, 0)), number)
    assert rows[wheel.name]["ptx_versions"] == {sm: f"{major}.{minor}" for sm, (major, minor) in highest.items()}


@pytest.mark.skipif(not (SITE / "torch/lib").is_dir(), reason="PBPROBE_TEST_TORCH names no environment with a torch")
def test_lists_the_rows_of_an_environment_like_cuobjdump():
    rows = audited(SITE)
    assert "torch" in {row["name"] for row in rows}
    for row in rows:
        lines = (SITE / row["folder"] / "RECORD").read_text().splitlines()
        files = {SITE / line.split(",")[0] for line in lines if re.search(r"\.so(\.\d[\d.]*)?,", line)}
        cubins, ptx = collections.Counter(), collections.Counter()
        for file in files:
            cubins += listed("--list-elf", file) + elsewhere(file, 2)
            ptx += listed("--list-ptx", file) + elsewhere(file, 1)
        print(f"{row['name']}: {len(files)} files, {dict(cubins)}, PTX {dict(ptx)}")
        assert (without_family(row["cubin"]), row["ptx"]) == (cubins, ptx), row["name"]
