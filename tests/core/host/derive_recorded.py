#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Derive recorded/<host>.json from public CPUID and /proc/cpuinfo dumps.

    derive_recorded.py DUMPS            write them
    derive_recorded.py DUMPS --check    only say what would change; exit code 1 if anything would

DUMPS holds copies of the dumps, each at DUMPS/<owner>/<repository>/<path> as HOSTS names them. Only what detection
reads is taken: CPUID leaves 0, 1, 7, 1AH and 80000000H to 80000004H, hwcap words, MIDRs.
"""

import argparse
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

INSTLAT = "InstLatx64/InstLatx64"
ARM_TABLE = "hrw/arm-socs-table"
COMMITS = {
    INSTLAT: "087af2c7d72c9a6af85a3a079e8fdb878db23ba1",
    ARM_TABLE: "7adad61c170ac52a8dc6539e1fa0a45296761c4c",
    "libvirt/libvirt": "58691208e2063285d981a620873d48ddf8df8be5",
}
LEAVES = {(0, 0), (1, 0), (7, 0), (7, 1), *((0x80000000 + i, 0) for i in range(5))}
HYBRID_LEAF = 0x1A

# Bits of AT_HWCAP and AT_HWCAP2: the kernel's arch/arm64/include/uapi/asm/hwcap.h.
HWCAP = {
    word: bit
    for bit, word in enumerate(
        [
            "fp",
            "asimd",
            "evtstrm",
            "aes",
            "pmull",
            "sha1",
            "sha2",
            "crc32",
            "atomics",
            "fphp",
            "asimdhp",
            "cpuid",
            "asimdrdm",
            "jscvt",
            "fcma",
            "lrcpc",
            "dcpop",
            "sha3",
            "sm3",
            "sm4",
            "asimddp",
            "sha512",
            "sve",
            "asimdfhm",
            "dit",
            "uscat",
            "ilrcpc",
            "flagm",
            "ssbs",
            "sb",
            "paca",
            "pacg",
        ]
    )
}
HWCAP2 = {
    word: bit
    for bit, word in enumerate(
        [
            "dcpodp",
            "sve2",
            "sveaes",
            "svepmull",
            "svebitperm",
            "svesha3",
            "svesm4",
            "flagm2",
            "frint",
            "svei8mm",
            "svef32mm",
            "svef64mm",
            "svebf16",
            "i8mm",
            "bf16",
            "dgh",
            "rng",
            "bti",
            "mte",
            "ecv",
            "afp",
            "rpres",
            "mte3",
            "sme",
            "smei16i64",
            "smef64f64",
            "smei8i32",
            "smef16f32",
            "smeb16f32",
            "smef32f32",
            "smefa64",
            "wfxt",
        ]
    )
}


@dataclass(frozen=True)
class Recorded:
    """One host: its file name, what it is, and the dump it comes from."""

    name: str
    title: str
    repository: str
    path: str
    sve_bytes: int | None = None  # aarch64: not in /proc/cpuinfo
    sve_source: str = ""


HOSTS = [
    Recorded(
        "sandy_bridge", "Core i5-2400, Sandy Bridge", INSTLAT, "GenuineIntel/GenuineIntel00206A7_SandyBridge_CPUID.txt"
    ),
    Recorded("haswell", "Core i7-4770, Haswell", INSTLAT, "GenuineIntel/GenuineIntel00306C3_Haswell_CPUID.txt"),
    Recorded("skylake_x", "Core i7-7800X, Skylake-X", INSTLAT, "GenuineIntel/GenuineIntel0050654_SkylakeX_CPUID2.txt"),
    Recorded(
        "ice_lake_server",
        "Xeon Platinum 8351N, Ice Lake-SP",
        INSTLAT,
        "GenuineIntel/GenuineIntel00606A6_ICX_CPUID3.txt",
    ),
    Recorded(
        "cooper_lake",
        "Xeon Cooper Lake, pre-production",
        "libvirt/libvirt",
        "tests/cputestdata/x86_64-cpuid-Cooperlake.xml",
    ),
    Recorded(
        "sapphire_rapids",
        "Xeon w7-2475X, Sapphire Rapids",
        INSTLAT,
        "GenuineIntel/GenuineIntel00806F8_SapphireRapids_05_CPUID.txt",
    ),
    Recorded(
        "alder_lake_i9_12900k",
        "Core i9-12900K, P and E cores on",
        INSTLAT,
        "GenuineIntel/GenuineIntel0090672_AlderLake_01_LC_BC_CPUID.txt",
    ),
    Recorded("zen_1", "Ryzen 7 1800X, Zen 1", INSTLAT, "AuthenticAMD/AuthenticAMD0800F11_K17_Zen_CPUID4.txt"),
    Recorded("zen_4", "Ryzen 5 7600X, Zen 4", INSTLAT, "AuthenticAMD/AuthenticAMD0A60F12_K19_Raphael_01_CPUID.txt"),
    Recorded("neoverse_n1", "AWS Graviton2, Neoverse N1", ARM_TABLE, "cpuinfo-data/graviton2"),
    Recorded(
        "graviton3",
        "AWS Graviton3, Neoverse V1",
        ARM_TABLE,
        "cpuinfo-data/graviton3",
        32,
        "256 bits: aws/aws-graviton-getting-started pull request 503",
    ),
    Recorded(
        "graviton4",
        "AWS Graviton4, Neoverse V2",
        ARM_TABLE,
        "cpuinfo-data/graviton4",
        16,
        "128 bits: aws/aws-graviton-getting-started pull request 503",
    ),
    Recorded(
        "grace",
        "NVIDIA Grace, Neoverse V2",
        ARM_TABLE,
        "cpuinfo-data/nvidia-grace",
        16,
        "128 bits: the same core as Graviton4",
    ),
    Recorded(
        "gb10",
        "NVIDIA GB10 (Dell Pro Max with GB10)",
        ARM_TABLE,
        "cpuinfo-data/nvidia-gb10",
        16,
        "128 bits: flame/blis pull request 939",
    ),
    Recorded("raspberry_pi_4", "Raspberry Pi 4, Cortex-A72", ARM_TABLE, "cpuinfo-data/raspberry-pi4"),
]


def fail(message: str) -> None:
    """End with one line."""
    sys.exit(f"derive_recorded: {message}")


def hex32(value: int) -> str:
    return f"0x{value:08x}"


def instlat_sections(text: str) -> list[dict[tuple[int, int], tuple[int, ...]]]:
    """One dictionary (leaf, subleaf) -> registers for each logical CPU of an InstLatx64 dump."""
    registers = "-".join(["([0-9A-F]{8})"] * 4)
    line = re.compile(rf"^CPUID ([0-9A-F]{{8}}): {registers}(?:.*\[SL ([0-9A-F]{{2}})\])?")
    cpus: list[dict[tuple[int, int], tuple[int, ...]]] = []
    for match in filter(None, map(line.match, text.splitlines())):
        leaf = int(match[1], 16)
        if leaf == 0:
            cpus.append({})
        # Old dumps do not number subleaves: they are listed in order.
        subleaf = int(match[6], 16) if match[6] else sum(1 for seen, _ in cpus[-1] if seen == leaf)
        cpus[-1].setdefault((leaf, subleaf), tuple(int(match[i], 16) for i in range(2, 6)))
    return cpus


def libvirt_sections(text: str) -> list[dict[tuple[int, int], tuple[int, ...]]]:
    """Parses libvirt's test data, which has one CPU, in the same way."""
    entry = re.compile(r"eax_in='(\w+)' ecx_in='(\w+)' eax='(\w+)' ebx='(\w+)' ecx='(\w+)' edx='(\w+)'")
    return [{(int(m[1], 0), int(m[2], 0)): tuple(int(m[i], 0) for i in range(3, 7)) for m in entry.finditer(text)}]


def compute_xcr0(cpu: dict[tuple[int, int], tuple[int, ...]]) -> tuple[int, str]:
    """XCR0 from leaf 0DH: EAX is what the CPU supports, EBX the size of what the system has enabled of it."""
    supported, enabled_size, full_size, _ = cpu[0xD, 0]
    if enabled_size == full_size:
        return supported, "XCR0: all that leaf 0DH supports, since the enabled save area has the full size"
    xcr0 = supported
    for bit in range(2, 32):
        if supported >> bit & 1:
            size, offset = cpu[0xD, bit][:2]
            if offset + size > enabled_size:
                xcr0 &= ~(1 << bit)
    return xcr0, f"XCR0: the states of leaf 0DH within the enabled save area of {enabled_size} bytes"


def derive_x86(host: Recorded, text: str) -> dict:
    cpus = libvirt_sections(text) if host.path.endswith(".xml") else instlat_sections(text)
    if not cpus or (0xD, 0) not in cpus[0]:
        fail(f"{host.path}: no CPUID leaves were found: is it the right file?")
    first = cpus[0]
    xcr0, how = compute_xcr0(first)
    assumed = [how]
    has_tiles = (7, 0) in first and first[7, 0][3] >> 24 & 1
    if has_tiles:
        assumed.append("AMX permission: granted, as Linux 5.16 and later does on request")
    derived = {
        "source_kind": "CPUID dump",
        "assumed": assumed,
        "architecture": "x86_64",
        "cpus": len(cpus),
        "cpuid": [
            [hex32(leaf), subleaf, *map(hex32, first[leaf, subleaf])] for leaf, subleaf in sorted(LEAVES & first.keys())
        ],
        "xcr0": hex(xcr0),
        "amx_permission": bool(has_tiles),
    }
    hybrid = [cpu.get((HYBRID_LEAF, 0), (0,))[0] for cpu in cpus]
    if any(hybrid):
        derived["cpuid"].append([hex32(HYBRID_LEAF), 0, *map(hex32, first[HYBRID_LEAF, 0])])
        derived["hybrid_leaves"] = [hex32(value) for value in hybrid]
    return derived


def cpuinfo_blocks(text: str) -> list[dict[str, str]]:
    blocks: list[dict[str, str]] = []
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if key.strip() == "processor":
            blocks.append({})
        if colon and blocks:
            blocks[-1][key.strip()] = value.strip()
    return [block for block in blocks if "CPU part" in block]


def compute_midr(block: dict[str, str]) -> int:
    implementer, variant, part = (int(block[f"CPU {key}"], 0) for key in ("implementer", "variant", "part"))
    return implementer << 24 | variant << 20 | 0xF << 16 | part << 4 | int(block["CPU revision"])


def derive_aarch64(host: Recorded, text: str) -> dict:
    blocks = cpuinfo_blocks(text)
    if not blocks:
        fail(f"{host.path}: no processor with a CPU part was found: is it the right file?")
    words = blocks[0]["Features"].split()
    unknown = [word for word in words if word not in HWCAP and word not in HWCAP2]
    if unknown:
        fail(f"{host.path}: features without a bit here: {' '.join(unknown)}")
    if any(block["Features"].split() != words for block in blocks):
        fail(f"{host.path}: its cores differ in features, which Linux does not allow")
    derived = {
        "source_kind": "/proc/cpuinfo",
        "assumed": [f"hwcap words: from the names of /proc/cpuinfo; {len(blocks)} CPUs are in the dump"],
        "architecture": "aarch64",
        "cpus": len(blocks),
        "features": words,
        "hwcap": hex(sum(1 << HWCAP[word] for word in words if word in HWCAP)),
        "hwcap2": hex(sum(1 << HWCAP2[word] for word in words if word in HWCAP2)),
        "sve_bytes": host.sve_bytes,
        "midrs": [hex32(compute_midr(block)) for block in blocks],
    }
    if ("sve" in words) != (host.sve_bytes is not None):
        fail(f"{host.name}: a vector length is needed with SVE, and only with SVE")
    if host.sve_source:
        derived["assumed"].append(f"SVE length: {host.sve_source}")
    return derived


def derive(host: Recorded, dumps: Path) -> str:
    dump = dumps / host.repository / host.path
    try:
        text = dump.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        fail(f"{dump}: {error.strerror}: put a copy of {host.repository}'s {host.path} there")
    is_arm = host.repository == ARM_TABLE
    document = {
        "host": host.title,
        "source": f"github.com/{host.repository}, {host.path}, commit {COMMITS[host.repository][:12]}",
        **(derive_aarch64(host, text) if is_arm else derive_x86(host, text)),
    }
    lines = json.dumps(document, indent=1)
    return re.sub(r"\[\s+([^][]*?)\s+\]", lambda m: "[" + re.sub(r"\s*\n\s*", " ", m[1]) + "]", lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dumps", type=Path, help="folder with the dumps, as DUMPS/<owner>/<repository>/<path>")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file would change")
    arguments = parser.parse_args()
    changed = []
    for host in HOSTS:
        text = derive(host, arguments.dumps)
        target = Path(__file__).parent / "recorded" / f"{host.name}.json"
        if target.exists() and target.read_text(encoding="utf-8") == text:
            continue
        changed.append(target.name)
        if not arguments.check:
            target.write_text(text, encoding="utf-8")
    print(f"{len(HOSTS)} hosts, {len(changed)} {'would change' if arguments.check else 'written'}: {' '.join(changed)}")
    return 1 if arguments.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
