# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Judges real code with each CPU target's flags by its own claim and by each other claim: the gate must agree with the
instructions in the table of targets.

    make test-real; PBPROBE_REAL_KERNELS=all make test-real

objdump decides on instructions that compilers do not use for plain loops.
"""

from __future__ import annotations

import functools
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gate"))

import aten
import faults

TARGETS = list(aten.targets())
pytestmark = pytest.mark.skipif(not shutil.which("apt-get"), reason="the source comes as a Debian package")

# Patterns of objdump's output for features that compilers seldom use. They use other features wherever possible.
SELDOM = {
    "avx512_bf16": r"\sv(?:dpbf16ps|cvtne2?ps2bf16)\s",
    "avx512_vnni": r"\svpdp(?:busd|wssd)s?\s",
}


@functools.cache
def built(identifier: str) -> aten.Built:
    folder = aten.BUILD / "tests/aten" / identifier
    shutil.rmtree(folder, ignore_errors=True)
    done = aten.build(identifier, folder)
    left_out = "".join(f"\n    did not configure: {name}: {why}" for name, why in done.failed.items())
    print(
        f"\n  {identifier}: {done.c10} files of c10, {len(done.kernels)} of {len(aten.kernels())} kernels in "
        f"{', '.join(aten.CAPABILITIES[done.target['architecture']])}; {done.seconds:.0f} s{left_out}",
        flush=True,
    )
    return done


@functools.cache
def unguarded_text(identifier: str) -> str:
    """Returns the disassembly of the object files with the default CPU capability."""
    command = ["objdump", "-d", "--no-show-raw-insn", *built(identifier).unguarded]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def given(target: dict) -> set[str]:
    """Returns the features of each CPU of that target."""
    return {*target["requires"], *target["recipe_requires"], *(target["implied"] or ())}


def used(identifier: str) -> set[str]:
    """Returns the target's features that a build for it uses."""
    asked = set(aten.targets()[identifier]["recipe_requires"])
    seldom = asked & SELDOM.keys()
    return (asked - seldom) | {name for name in seldom if re.search(SELDOM[name], unguarded_text(identifier))}


def expected(build: str, claim: str) -> set[str]:
    """The checks that fail: by the order of the table's instructions, whatever the gate says."""
    target, claimed = aten.targets()[build], aten.targets()[claim]
    if target["architecture"] != claimed["architecture"]:
        return {"PB109"}
    failing = set()
    if used(build) - given(claimed):
        failing.add("PB207")
    if not given(target) & set(claimed["marks"]):
        failing.add("PB208")
    return failing


def same_code(build: str, claim: str) -> bool:
    """Reports whether the build uses no feature that the claimed target adds to its predecessor: a warning."""
    claimed = aten.targets()[claim]
    added = set(claimed["recipe_requires"]) & SELDOM.keys()
    return bool(added) and not added & used(build)


@pytest.mark.parametrize("identifier", TARGETS)
def test_it_is_what_was_asked_for(identifier):
    done = built(identifier)
    assert done.c10 == len(aten.c10_sources()) > 50
    assert done.kernels, f"no kernel configures: {done.failed}"
    assert {"libc10.so", "libtorch_cpu.so"} == {file.name for file in (done.folder / "lib").iterdir()}


@pytest.mark.parametrize("claim", TARGETS)
@pytest.mark.parametrize("identifier", TARGETS)
def test_claims_that_hold_are_those_of_the_table(identifier, claim):
    answer = faults.gated(built(identifier).folder, f"{claim},only")
    failing = expected(identifier, claim)
    known = ", ".join(sorted(set(answer.found) - failing)) or "-"
    print(
        f"\n| {identifier} | {claim} | {answer.outcome} | {', '.join(sorted(failing)) or '-'} | {known} |", flush=True
    )
    assert answer.failed - {"claim"} == failing, answer.found
    assert answer.unknown == set(), answer.found
    assert (answer.outcome, answer.code) == (("fail", 1) if failing else ("pass", 0))
    if (
        not failing
    ):  # its objects are linked in torch's order, so no CPU capability's code leaks, and nothing else is reported
        same = {"PB209"} if same_code(identifier, claim) else set()
        assert answer.found.keys() == same, answer.found


@pytest.mark.parametrize("identifier", TARGETS)
def test_skips_missing_parts(identifier):
    """No version, no package, no CUDA: nothing of these was passed."""
    states = faults.states(built(identifier).folder, f"{identifier},only")
    absent = {"PB105", "PB107", "PB108", "PB110", "PB112", "PB119", "PB121", "PB125", "PB126", "PB127", "PB310"}
    assert {id_: states[id_] for id_ in absent} == dict.fromkeys(absent, "not_asked")
