# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Debian's torch 1.13.1, which has no C shims: it runs by those that pbprobe builds against it (PBPROBE_OLD_TORCH)."""

import json
import pathlib
import platform
import subprocess

import pytest
from builds import PROGRAM

SHIMS = PROGRAM.parent.parent / "lib/libpbprobe_torch_shims.so"
LIBRARY = pathlib.Path(f"/usr/lib/{platform.machine()}-linux-gnu/libtorch_cpu.so")

pytestmark = [
    pytest.mark.skipif(not LIBRARY.exists(), reason="needs Debian's libtorch-dev"),
    pytest.mark.skipif(not SHIMS.exists(), reason="built without -DPBPROBE_OLD_TORCH=ON"),
]


def test_it_computes_correctly_in_every_area():
    done = subprocess.run(
        [PROGRAM, "report", "/usr", "--format", "json", "--budget", "60"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.startswith("{"), done.stderr
    libtorch = json.loads(done.stdout)["measurements"]["libtorch"]
    assert libtorch["problem"] is None
    assert (libtorch["loaded"], libtorch["executed"]) == (True, True)
    assert libtorch["version"].startswith("1.13.")
    assert libtorch["cpu_capability"] in ("DEFAULT", "NO AVX", "AVX2", "AVX512")
    assert {area["area"]: area["problem"] for area in libtorch["areas"] if area["problem"]} == {}
    assert len(libtorch["areas"]) > 8
    assert libtorch["figures"], "its own products were timed"
