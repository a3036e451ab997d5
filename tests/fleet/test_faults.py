# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Each fault of faults.py in a job of its own: named, no other one with it, and in time. `ctest -C real -R fleet`."""

import signal

import pytest

pytest.importorskip("torch")
import faults
import plants
from jobs import health


@pytest.mark.parametrize("fault", faults.FAULTS, ids=lambda fault: fault.name)
def test_it_is_named_and_no_other_is(tmp_path, fault):
    if reason := faults.why_not(fault):
        pytest.skip(reason)
    assert faults.make(fault, tmp_path).problems == []


def test_node_health_of_a_node_that_hangs_is_unknown_in_time(tmp_path):
    code, line, seconds = health(plants.strike(tmp_path, "soak", signal.SIGSTOP))
    assert code == 1 and line.startswith("UNKNOWN  1 of 1 nodes gave no answer: node7;") and seconds < 20
