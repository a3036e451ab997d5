# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Gates each variant's sound build by its own claim, and each planted fault: only the check of the fault may catch
it."""

import hashlib
import subprocess

import cpu_faults
import device_faults
import elves
import faults
import file_faults
import gpu_faults
import pytest
from made import PROGRAM, kept
from small_builds import Build, linked
from variants import CUDA, fatbin, old_variants, sound, variants

FAULTS = [*gpu_faults.FAULTS, *device_faults.FAULTS, *cpu_faults.FAULTS, *file_faults.FAULTS]
SOUND = [*variants(), *old_variants()]


@pytest.mark.parametrize("name", SOUND)
def test_passes_a_sound_build(tmp_path, name):
    answer = faults.gated_sound(name, tmp_path)
    assert answer.failed | answer.unknown == set(), answer.found
    assert (answer.outcome, answer.code) == ("pass", 0)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.expected}-{fault.variant}-{fault.what}")
def test_catches_a_planted_fault_by_its_check(tmp_path, fault):
    answer = faults.gated_fault(fault, tmp_path)
    assert faults.why_not_caught(fault, answer) == "", answer


def elsewhere(name: str, unit: str, section: str) -> Build:
    """The sound build of a variant, its libtorch_cuda.so with that device code in a section of that name."""
    build = sound(name)
    library = build.libraries[CUDA].but(units=(fatbin(unit),))
    content = elves.renamed(linked("libtorch_cuda.so", library).read_bytes(), ".nv_fatbin", section)
    digest = hashlib.sha256(content)
    return build.but({CUDA: library.but(ready=str(kept("libtorch_cuda.so", digest, lambda f: f.write_bytes(content))))})


@pytest.mark.parametrize("section", [".rodata.cubins", ".lrodata", ".data.rel.ro", "cubins"])
def test_reads_device_code_in_any_section(tmp_path, section):
    name = faults.full_name("sm75-avx2")
    answer = faults.gated(elsewhere(name, "75", section).write(tmp_path / "sound"), name, reference=faults.tiny_table())
    assert (answer.outcome, answer.failed, answer.code) == ("pass", set(), 0), answer.found
    other = elsewhere(name, "80", section).write(tmp_path / "other")
    assert faults.gated(other, name, reference=faults.tiny_table()).failed == {"PB314", "claim"}


def test_there_are_enough_faults_and_each_target_has_some():
    assert len(FAULTS) >= 60
    assert len({(fault.what, fault.variant) for fault in FAULTS}) == len(FAULTS)
    planted = {fault.name for fault in FAULTS}
    facts = [facts for name, facts in variants().items() if name in planted]
    assert {one["gpu"] for one in facts} == {one["gpu"] for one in variants().values()}
    assert {one["cpu"] for one in facts} == {one["cpu"] for one in variants().values()}


def test_sm_120_alone_is_no_fault_where_nothing_is_claimed(tmp_path):
    [fault] = [one for one in FAULTS if one.what == "only sm_120, which runs there"]
    assert fault.variant == "sm121-armv9"
    command = [PROGRAM, "audit", fault.build().write(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "PB3" in done.stdout) == (0, False), done.stdout
