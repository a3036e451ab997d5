# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Plants each fault of faults.py in a separate job. Expects that only this fault is named, in time. `ctest -C real -R
fleet`.
"""

import signal

import pytest

pytest.importorskip("torch")
import faults
import planted_faults
from jobs import health


@pytest.mark.parametrize("fault", faults.FAULTS, ids=lambda fault: fault.name)
def test_names_only_the_planted_fault(tmp_path, fault):
    if reason := faults.find_obstacle(fault):
        pytest.skip(reason)
    assert faults.make(fault, tmp_path).problems == []


def test_node_health_reports_hanging_node_as_unknown(tmp_path):
    code, line, seconds = health(planted_faults.strike(tmp_path, "soak", signal.SIGSTOP))
    assert code == 1 and line.startswith("UNKNOWN  1 of 1 nodes gave no answer: node7;") and seconds < 20
