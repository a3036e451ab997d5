# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A real libtorch against a copy of itself: twenty times, and at least nineteen times no gain is shown in any area."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest
from builds import PROGRAM

TORCH = os.environ.get("PBPROBE_TEST_TORCH")
RUNS = int(os.environ.get("PBPROBE_GAIN_RUNS", "20"))

pytestmark = pytest.mark.skipif(not TORCH, reason="set PBPROBE_TEST_TORCH to a site-packages folder")


def compared(build, baseline):
    """The areas of one comparison that gained or lost, with their figures."""
    measured = ["--require", "measured", "--baseline", baseline, "--budget", "600", "--format", "json"]
    done = subprocess.run(
        [PROGRAM, "gate", build, "--claim", f"avx2,torch={version(build)}", *measured],
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.stdout.startswith("{"), done.stderr
    beside = json.loads(done.stdout)["baseline"]
    assert beside["differences"] == [], beside
    assert beside["problem"] is None and len(beside["gains"]) >= 12, beside
    return [gain for gain in beside["gains"] if gain["low"] > 1 or gain["high"] < 0.97]


def version(build):
    text = (pathlib.Path(build) / "torch/version.py").read_text(encoding="utf-8")
    return text.split("__version__ = '")[1].split("'")[0].split("+")[0]


def test_shows_no_gain_of_a_copy_in_nineteen_of_twenty_runs(tmp_path):
    shutil.copytree(f"{TORCH}/torch", tmp_path / "copy/torch", copy_function=os.link, symlinks=True)
    shown = [compared(TORCH, tmp_path / "copy") for _ in range(RUNS)]
    for run, areas in enumerate(shown, 1):
        for gain in areas:
            print(f"run {run}: {gain['area']} {gain['gain']:.3f} ({gain['low']:.3f} to {gain['high']:.3f})")
    assert sum(bool(areas) for areas in shown) <= RUNS // 20
