# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A budget limits the figures; loading slowly is not a fault of the build."""

import json
import subprocess

import pytest
from test_cli import run

SLOW = """
#include <unistd.h>
__attribute__((constructor)) static void start(void) { sleep(3); }
"""


@pytest.fixture
def slow(tmp_path):
    """A libtorch of no torch, which takes longer to load than the budget is."""
    source = tmp_path / "slow.c"
    source.write_text(SLOW)
    folder = tmp_path / "lib"
    folder.mkdir()
    for name in ("libtorch_cpu.so", "libc10.so", "libtorch.so"):
        code = source if name == "libtorch_cpu.so" else "/dev/null"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / name, "-x", "c", code], check=True)
    return folder


def test_loads_a_library_after_a_slow_audit(slow):
    report = json.loads(run("report", slow, "--budget", "2", "--format", "json").stdout)
    libtorch = report["measurements"]["libtorch"]
    assert libtorch["obstacle"] is None, libtorch["problem"]
    assert "aoti_torch_abi_version" in libtorch["problem"]  # looked for in what was loaded
