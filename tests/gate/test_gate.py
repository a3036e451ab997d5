# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Each variant's sound build passes its own claim; each planted fault is caught by its check and by no other."""

import subprocess

import cpu_faults
import faults
import file_faults
import gpu_faults
import pytest
from made import PROGRAM
from variants import old_variants, variants

FAULTS = [*gpu_faults.FAULTS, *cpu_faults.FAULTS, *file_faults.FAULTS]
SOUND = [*variants(), *old_variants()]


def test_the_line_has_59_variants():
    assert len(variants()) == 59


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_build_passes_its_claim(tmp_path, name):
    answer = faults.gated_sound(name, tmp_path)
    assert answer.failed | answer.unknown == set(), answer.found
    assert (answer.outcome, answer.code) == ("pass", 0)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.expected}-{fault.variant}-{fault.what}")
def test_a_planted_fault_is_caught_by_its_check_alone(tmp_path, fault):
    answer = faults.gated_fault(fault, tmp_path)
    assert faults.why_not_caught(fault, answer) == "", answer


def test_there_are_enough_faults_and_each_target_has_some():
    assert len(FAULTS) >= 60
    assert len({(fault.what, fault.variant) for fault in FAULTS}) == len(FAULTS)
    planted = {fault.name for fault in FAULTS}
    facts = [facts for name, facts in variants().items() if name in planted]
    assert {one["gpu"] for one in facts} == {one["gpu"] for one in variants().values()}
    assert {one["cpu"] for one in facts} == {one["cpu"] for one in variants().values()}


def test_sm_120_alone_is_no_fault_where_nothing_is_claimed(tmp_path):
    [fault] = [one for one in FAULTS if one.what == "sm_120 alone, which runs there"]
    assert fault.variant == "sm121-armv9"
    command = [PROGRAM, "audit", fault.build().write(tmp_path), "--full"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "PB3" in done.stdout) == (0, False), done.stdout
