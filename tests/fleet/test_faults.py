# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Each fault of faults.py in a job of its own: named, alone, and in time. Minutes: `ctest -C real -R fleet`."""

import pytest

pytest.importorskip("torch")
import faults


@pytest.mark.parametrize("fault", faults.FAULTS, ids=lambda fault: fault.name)
def test_it_is_named_and_no_other_is(tmp_path, fault):
    if reason := faults.why_not(fault):
        pytest.skip(reason)
    assert faults.make(fault, tmp_path).problems == []
