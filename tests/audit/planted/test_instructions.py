# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Instructions beyond arithmetic, each in code that runs everywhere; the twin asks the CPU first."""

import pytest
from rows import Row, ask
from test_cpu import ARM, C10, CLAIM, X86, beside

# Bytes, as assemblers may not know them: feature, instruction.
CODE = {
    X86: {
        "adx": "0x66, 0x0f, 0x38, 0xf6, 0xc1",  # adcx
        "rdseed": "0x0f, 0xc7, 0xf8",
        "rdrand": "0x0f, 0xc7, 0xf0",
        "rtm": "0xc7, 0xf8, 0, 0, 0, 0",  # xbegin
        "clwb": "0x66, 0x0f, 0xae, 0x30",
        "movdir64b": "0x66, 0x0f, 0x38, 0xf8, 0x08",
        "waitpkg": "0x66, 0x0f, 0xae, 0xf1",  # tpause
        "serialize": "0x0f, 0x01, 0xe8",
        "kl": "0xf3, 0x0f, 0x38, 0xdc, 0x00",  # aesenc128kl
        "widekl": "0xf3, 0x0f, 0x38, 0xd8, 0x00",
        "fsgsbase": "0xf3, 0x0f, 0xae, 0xc0",  # rdfsbase
        "rdpid": "0xf3, 0x0f, 0xc7, 0xf8",
        "3dnow": "0x0f, 0x0f, 0xc1, 0x9e",
    },
    ARM: {
        "lrcpc": "0xb8bfc020",  # ldapr
        "pacg": "0x9ac13000",
        "mte": "0x9adf1000",  # irg
        "rng": "0xd53b2400",  # rndr
        "tme": "0xd5233060",  # tstart
        "dcpodp": "0xd50b7d20",
        "fp8": "0x4e40fc20",  # fdot
    },
}
# Questions: names of __builtin_cpu_supports that differ, and bits of AT_HWCAP (16) and AT_HWCAP2 (26). Linux has
# none for tme; fp8 has several.
SUPPORTS = {"rdrand": "rdrnd"}
HWCAPS = {
    "lrcpc": (16, 15),
    "pacg": (16, 31),
    "mte": (26, 18),
    "rng": (26, 16),
    "tme": (26, 0),
    "dcpodp": (26, 0),
    "fp8": (26, 52),
}
# Every CPU of the claimed row has these, or skips them.
PLAIN = {
    X86: ["0xf3, 0x0f, 0x1e, 0xfa", "0x0f, 0x01, 0xf9", "0x48, 0x0f, 0xc7, 0x08"],  # endbr64, rdtscp, cmpxchg16b
    ARM: ["0xd503233f", "0xd50b7b20", "0x889ffc20"],  # paciasp, dc cvau, stlr
}


def code(machine: str, instruction: str, condition: str = "") -> str:
    """An exported function that runs one instruction, after a condition."""
    directive = {X86: ".byte", ARM: ".inst"}[machine]
    inner = f'static __attribute__((noinline)) void inner(void) {{ __asm__ volatile("{directive} {instruction}"); }}\n'
    return f'#include <sys/auxv.h>\n{inner}extern "C" void outer(void) {{ {condition} inner(); }}\n'


def guard(machine: str, feature: str) -> str:
    if machine == X86:
        return f'if (__builtin_cpu_supports("{SUPPORTS.get(feature, feature)}"))'
    entry, bit = HWCAPS[feature]
    return f"if (getauxval({entry}) & (1UL << {bit}))"


def row(machine: str, feature: str) -> Row:
    instruction = CODE[machine][feature]
    planted = beside(machine, C10, code(machine, instruction))
    twin = beside(machine, C10, code(machine, instruction, guard(machine, feature)))
    return Row("PB207", f"unguarded code needs {feature}, which", planted, twin, CLAIM[machine])


def plain(machine: str, instruction: str) -> Row:
    """Beside the same fault, a twin whose instruction every claimed CPU has."""
    feature = {X86: "rdseed", ARM: "rng"}[machine]
    return Row(
        "PB207",
        f"unguarded code needs {feature}",
        beside(machine, C10, code(machine, CODE[machine][feature])),
        beside(machine, C10, code(machine, instruction)),
        CLAIM[machine],
    )


ROWS = [row(machine, feature) for machine, rows in CODE.items() for feature in rows]
TWINS = [plain(machine, instruction) for machine, rows in PLAIN.items() for instruction in rows]


@pytest.mark.parametrize("row", [*ROWS, *TWINS], ids=lambda row: row.name)
def test_finds_instruction_beyond_claim(tmp_path, row):
    ask(row, tmp_path)
