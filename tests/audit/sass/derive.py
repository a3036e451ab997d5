#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Holds the SASS opcodes that the audit counts by against NVIDIA's assembler and disassembler.

  derive.py --ptxas PTXAS --nvdisasm NVDISASM --table probes/audit/device_code/sass.inc [CUBIN...]

Assembles PTX for each counted instruction and every SM, disassembles all of it, and wants each 128-bit word to be what
the table says, in both directions. It prints the rows that are missing or wrong with the opcode to write; those right,
with the SMs that have them.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

# Every architecture that has 128-bit words and that CUDA 13.0 builds, beside the a and f forms with more instructions.
ARCHITECTURES = ["75", "80", "86", "89", "90a", "100a", "100f", "103a", "110a", "120a", "121a", "120", "121"]

MODULE = """.version 9.0
.target sm_{arch}
.address_size 64
.extern .shared .align 128 .b8 shared[];
"""
HEAD = """.visible .entry k{number}(.param .u64 p, .param .u32 count) {{
  .reg .b64 a, d, d2, l; .reg .b32 r<8>, u, n, i, x<40>; .reg .f32 f<40>; .reg .f64 e<4>; .reg .pred q;
  .reg .b16 h;
  .local .align 16 .b8 stack[256];
  ld.param.u64 a, [p]; ld.param.u32 n, [count]; mov.u64 l, stack; mov.u32 i, shared;
  ld.global.v4.b32 {{r0, r1, r2, r3}}, [a]; ld.global.v4.b32 {{r4, r5, r6, r7}}, [a+16];
  ld.global.v4.f32 {{f0, f1, f2, f3}}, [a+32]; ld.global.v2.b64 {{d, d2}}, [a+48];
  ld.global.v2.f64 {{e0, e1}}, [a+64]; ld.global.b32 u, [a+80]; ld.global.b16 h, [a+84];
  setp.ne.u32 q, u, 0;
"""
TAIL = """
  st.global.v4.b32 [a], {r0, r1, r2, r3}; st.global.v4.f32 [a+32], {f0, f1, f2, f3}; st.global.b32 [a+96], u;
  st.global.v2.b64 [a+48], {d, d2}; st.global.v2.f64 [a+64], {e0, e1};
  ret;
}
"""


def mma(shape, types, a, b, integer=False):
    c = "{r0, r1, r2, r3}" if integer else "{f0, f1, f2, f3}"
    operands = ["{" + ", ".join(f"r{(4 + i) % 8}" for i in range(count)) + "}" for count in (a, b)]
    return f"mma.sync.aligned.{shape}.row.col.{types} {c}, {operands[0]}, {operands[1]}, {c};"


def wgmma(kind, scale):
    registers = "{r0, r1, r2, r3}" if "s32" in kind else "{f0, f1, f2, f3}"
    return (
        f"wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.{kind} {registers}, d, d2, q{scale}; "
        "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
    )


# Counted instructions: a mnemonic of the disassembler, and PTX that becomes it (any of its instructions).
INSTRUCTIONS = {
    "FFMA": ["fma.rn.f32 f0, f1, f2, f3;", "fma.rn.f32 f0, f1, 0f40490FDB, f3;", "fma.rn.f32 f0, f1, f2, 0f40490FDB;"],
    "FFMA2": ["fma.rn.f32x2 d, d, d2, d2;"],
    "IDP": ["dp4a.s32.s32 r0, r1, r2, r3;", "dp4a.s32.s32 r0, r1, n, r3;"],
    "HMMA": [
        mma("m16n8k8", "f32.f16.f16.f32", 2, 1),
        mma("m16n8k16", "f32.bf16.bf16.f32", 4, 2),
        mma("m16n8k8", "f32.tf32.tf32.f32", 4, 2),
    ],
    "IMMA": [
        "mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32 {r0, r1}, {r2}, {r3}, {r4, r5};",
        mma("m16n8k32", "s32.s8.s8.s32", 4, 2, integer=True),
    ],
    "DMMA": ["mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {e0, e1}, {e0}, {e1}, {e0, e1};"],
    "QMMA": [mma("m16n8k32", "f32.e4m3.e4m3.f32", 4, 2), mma("m16n8k32.kind::f8f6f4", "f32.e4m3.e4m3.f32", 4, 2)],
    "OMMA": [
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 "
        "{f0, f1, f2, f3}, {r0, r1, r2, r3}, {r4, r5}, {f0, f1, f2, f3}, {u}, {0, 0}, {u}, {0, 0};"
    ],
    "HGMMA": [
        wgmma("m64n8k16.f32.bf16.bf16", ", 1, 1, 0, 0"),
        wgmma("m64n8k16.f32.f16.f16", ", 1, 1, 0, 0"),
        wgmma("m64n8k8.f32.tf32.tf32", ", 1, 1"),
    ],
    "IGMMA": [wgmma("m64n8k32.s32.s8.s8", "")],
    "QGMMA": [wgmma("m64n8k32.f32.e4m3.e4m3", ", 1, 1")],
    "UTCHMMA": [
        "tcgen05.mma.cta_group::1.kind::f16 [u], d, d2, r0, q;",
        "tcgen05.mma.cta_group::2.kind::f16 [u], d, d2, r0, q;",
        "tcgen05.mma.cta_group::1.kind::tf32 [u], d, d2, r0, q;",
    ],
    "UTCIMMA": ["tcgen05.mma.cta_group::1.kind::i8 [u], d, d2, r0, q;"],
    "UTCQMMA": ["tcgen05.mma.cta_group::1.kind::f8f6f4 [u], d, d2, r0, q;"],
    "UTCOMMA": ["tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X [u], d, d2, r0, [r1], [r2], q;"],
    "LDGSTS": ["cp.async.cg.shared.global [i], [a], 16; cp.async.wait_all;"],
    "HMMA.884": [
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {f4, f5, f6, f7, f8, f9, f10, f11}, {r0, r1}, {r2, r3}, "
        "{f0, f1, f2, f3, f0, f1, f2, f3}; mov.f32 f0, f4; mov.f32 f1, f9;"
    ],
    "LDSM": ["ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r0, r1, r2, r3}, [i];"],
    "UTMALDG": ["cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [i], [a, {r0, r1}], [u];"],
    "UTMASTG": ["cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [a, {r0, r1}], [i];"],
    "UTMAREDG": ["cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [a, {r0, r1}], [i];"],
    "UBLKCP": [
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [i], [a], 64, [u];",
        "cp.async.bulk.global.shared::cta.bulk_group [a], [i], 64;",
    ],
    "UBLKRED": ["cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [a], [i], 64;"],
    "UTCATOMSWS": [
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [i], 512;",
        "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [i], n;",
        "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;",
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 u, 512;",
        "tcgen05.dealloc.cta_group::2.sync.aligned.b32 u, n;",
    ],
    "LDTM": [
        "tcgen05.ld.sync.aligned.32x32b.x4.b32 {r0, r1, r2, r3}, [u]; tcgen05.wait::ld.sync.aligned;",
        "tcgen05.ld.sync.aligned.16x64b.x1.b32 {r0}, [u]; tcgen05.wait::ld.sync.aligned;",
    ],
    "STTM": [
        "tcgen05.st.sync.aligned.32x32b.x4.b32 [u], {r0, r1, r2, r3}; tcgen05.wait::st.sync.aligned;",
        "tcgen05.st.sync.aligned.16x64b.x1.b32 [u], {r0}; tcgen05.wait::st.sync.aligned;",
    ],
    "BPT": ["@q trap;", "trap;", "@q brkpt;"],
    "LDL": ["add.u64 l, l, d; st.local.b32 [l], r1; ld.local.b32 r0, [l+16];"],
    "LD": ["ld.b32 r0, [d];"],
    "LDS": ["ld.shared.b32 r0, [i];"],
    "ST": ["st.b32 [d], r0;"],
    "STS": ["st.shared.b32 [i], r0;"],
    "STAS": ["st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [u], r0, [r1];"],
    "ATOM": ["atom.add.u32 r0, [d], r1;", "atom.cas.b32 r0, [d], r1, r2;"],
    "ATOMG": [
        "atom.global.add.u32 r0, [a], r1;",
        "atom.global.cas.b32 r0, [a], r1, r2;",
        "atom.global.add.f32 f0, [a], f1;",
    ],
    "ATOMS": ["atom.shared.add.u32 r0, [i], r1;", "atom.shared.cas.b32 r0, [i], r1, r2;"],
    "RED": ["red.global.add.u32 [a+64], r1;", "red.add.u32 [d], r1;", "red.global.add.f32 [a], f1;"],
    "SUST": ["sust.b.1d.b32.clamp [d, {r0}], {r1};"],
}

WORD = re.compile(
    r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P[T0-9]+\s+)?([A-Z0-9_]+)[^;]*;"
    r"\s+/\* 0x([0-9a-f]{16}) \*/\s+/\* 0x([0-9a-f]{16}) \*/"
)


def disassembled(nvdisasm, cubin):
    """(low half, high half, mnemonic) of each instruction."""
    text = subprocess.run([nvdisasm, "-c", "-hex", cubin], capture_output=True, text=True, check=True).stdout
    for match in WORD.finditer(text):
        yield int(match[2], 16), int(match[3], 16), match[1]


def kernels():
    """Returns one kernel for each row's PTX, without line ends: the assembler's line number is the kernel's number."""
    codes = [code for row in INSTRUCTIONS.values() for code in row]
    return [(HEAD.format(number=i) + code + TAIL).replace("\n", " ") for i, code in enumerate(codes)]


def assembled(ptxas, folder):
    """(architecture, cubin) with all kernels that the architecture takes."""
    for architecture in ARCHITECTURES:
        left = kernels()
        module = MODULE.format(arch=architecture)
        source, cubin = folder / f"{architecture}.ptx", folder / f"{architecture}.cubin"
        while left:
            source.write_text(module + "\n".join(left) + "\n")
            done = subprocess.run(
                [ptxas, f"-arch=sm_{architecture}", source, "-o", cubin], capture_output=True, text=True, check=False
            )
            if done.returncode == 0:
                yield architecture, cubin
                break
            first = module.count("\n") + 1
            refused = {int(line) - first for line in re.findall(r"line (\d+); error", done.stdout + done.stderr)}
            if not refused:
                sys.exit(f"sm_{architecture}: {done.stderr}")
            left = [kernel for i, kernel in enumerate(left) if i not in refused]


def table(path):
    """Rows of sass.inc: mnemonic, opcode, four masks, the last SM (0: every one)."""
    pattern = re.compile(r"^PBPROBE_SASS\((\w+), (\w+), \w+, (\w+), (\w+), (\w+), (\w+)(?:, (\w+))?\)", re.MULTILINE)
    return [(m[1], *(int(m[i] or "0", 0) for i in range(2, 8))) for m in pattern.finditer(path.read_text())]


def classify(rows, sm, low, high):
    for mnemonic, opcode, low_mask, low_value, high_mask, high_value, last_sm in rows:
        if last_sm and sm > last_sm:
            continue
        if low & 0x1FF == opcode and low & low_mask == low_value and high & high_mask == high_value:
            return mnemonic
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--nvdisasm", required=True)
    parser.add_argument("--table", type=pathlib.Path, required=True, help="probes/audit/device_code/sass.inc")
    parser.add_argument("cubins", nargs="*", type=pathlib.Path, help="more cubins to hold the table against")
    options = parser.parse_args()
    rows = table(options.table)
    counted = {row[0] for row in rows}
    shown = {}  # mnemonic: architectures
    wrong = {}
    with tempfile.TemporaryDirectory() as folder:
        cubins = list(assembled(options.ptxas, pathlib.Path(folder)))
        cubins += [(cubin.stem, cubin) for cubin in options.cubins]
        for architecture, cubin in cubins:
            sm = int(re.search(r"\d+", architecture)[0])
            for low, high, mnemonic in disassembled(options.nvdisasm, cubin):
                reported = "RED" if mnemonic == "REDG" else mnemonic
                shown.setdefault(reported, set()).add(architecture)
                expected = reported if reported in counted else None
                known = classify(rows, sm, low, high)
                if known != expected:
                    wrong.setdefault((reported, low & 0x1FF, known), set()).add(architecture)
    for (mnemonic, opcode, known), where in sorted(wrong.items()):
        print(f"{mnemonic} has opcode 0x{opcode:03x} on {', '.join(sorted(where))}, and the table says {known}")
    unseen = sorted(counted - shown.keys())
    if unseen:
        print(f"no architecture gave {', '.join(unseen)}: the table's rows for them are not proved")
    for mnemonic in sorted(counted - set(unseen)):
        print(f"{mnemonic:10} {' '.join(sorted(shown[mnemonic]))}")
    return 1 if wrong or unseen else 0


if __name__ == "__main__":
    sys.exit(main())
