# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Ctrl-C while pbprobe.report() is at work, in a notebook too: where only Python gets the signal."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

CODE = """
import sys, time, pbprobe
try:
    pbprobe.report({torch!r}, quick=False, show=False)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(7)
"""


def descendants(process):
    """By what /proc says of parents."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found, waiting = [], [process]
    while waiting:
        parent = waiting.pop()
        children = [child for child, of in parents.items() if of == parent]
        found += children
        waiting += children
    return found


def wait_until(condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_an_interrupt_ends_it_and_its_children(build, torch):
    process = subprocess.Popen(
        [sys.executable, "-c", CODE.format(torch=str(torch))],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(build / "python")},
        start_new_session=True,
    )
    try:
        # The program, and children of its own that run foreign code.
        assert wait_until(lambda: len(descendants(process.pid)) >= 2, 90)
        children = descendants(process.pid)
        begun = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        took = time.monotonic() - begun
        assert process.wait(10) == 7
        assert wait_until(lambda: not any(Path(f"/proc/{child}/exe").exists() for child in children), 5)
    finally:
        process.kill()
    # 0.2 s on idle cores: what is asked here is that nothing is waited for.
    assert took < 2
