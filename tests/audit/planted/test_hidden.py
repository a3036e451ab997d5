# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Code for a better CPU that neither symbols nor section headers show. No gate passes it, unless its caller asks the
CPU first."""

from __future__ import annotations

import pathlib
import sys

import pytest
from test_cpu import ARM, C10, CLAIM, NAME, WIDE, X86, beside, guard

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "gate"))

import elves
import faults


def stripped(file: pathlib.Path) -> bytes:
    return elves.objcopied(file, "--strip-all").read_bytes()


def without_section_headers(file: pathlib.Path) -> bytes:
    return elves.without_sections(stripped(file))


def without_dynamic_symbols(file: pathlib.Path) -> bytes:
    content = stripped(file)
    return elves.change_section_header(content, elves.section(content, ".dynsym"), size=24)


def not_executable_by_its_section(file: pathlib.Path) -> bytes:
    content = stripped(file)
    one = elves.section(content, ".text")
    return elves.change_section_header(content, one, flags=one.flags & ~elves.SHF_EXECINSTR)


CHANGES = [stripped, without_section_headers, without_dynamic_symbols, not_executable_by_its_section]
FOUND = {"PB204", "PB207", "PB211"}


def code(machine: str, condition: str = "") -> str:
    """Returns an exported function that calls an unlisted one."""
    inner = WIDE[machine].replace('extern "C"', "static __attribute__((noinline))")
    head = "#include <sys/auxv.h>\n" + inner
    return head + f'extern "C" void outer(void) {{ {condition} {NAME[machine]}(); }}\n'


def started(machine: str, condition: str = "") -> str:
    return code(machine, condition).replace('extern "C" void outer', "__attribute__((constructor)) static void outer")


def gated(machine: str, source: str, change, folder: pathlib.Path) -> faults.Answer:
    artifact = beside(machine, C10, source)().write(folder)
    file = artifact / C10
    content = change(file)
    file.unlink()  # it may be linked elsewhere
    file.write_bytes(content)
    return faults.gated(artifact, CLAIM[machine], reference=faults.tiny_table())


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("kind", [code, started], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("machine", [X86, ARM])
def test_hidden_code_is_never_passed_and_guarded_code_is(machine, kind, change, tmp_path):
    hidden = gated(machine, kind(machine), change, tmp_path / "hidden")
    assert hidden.code == 1
    assert (hidden.failed | hidden.unknown) & FOUND, hidden
    assert not hidden.failed - FOUND - {"claim"}, hidden
    guarded = gated(machine, kind(machine, guard(machine)), change, tmp_path / "guarded")
    assert (guarded.code, guarded.failed, guarded.unknown) == (0, frozenset(), frozenset()), guarded
