# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Measures time and memory of `pbprobe report` on an environment: first, and again from the cache. Runs with `--host`,
which starts nothing, and without, which also measures torch. On an idle machine:

    PBPROBE_TEST_ENVIRONMENTS=/environment pytest -s tests/real/test_reading.py
"""

import os
import pathlib
import subprocess
import sys
import time

import pytest
from made import PROGRAM

ENVIRONMENTS = [pathlib.Path(name) for name in os.environ.get("PBPROBE_TEST_ENVIRONMENTS", "").split(":") if name]
MOST_SECONDS_AGAIN = 3
MOST_BYTES = 10**9


def timed(folder, *arguments):
    """Seconds, and the most memory that it, or one of its children, had."""
    start = time.monotonic()
    pid = os.posix_spawn(
        PROGRAM,
        [str(PROGRAM), *map(str, arguments)],
        {**os.environ, "XDG_CACHE_HOME": str(folder)},
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, usage = os.wait4(pid, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 1)
    return time.monotonic() - start, usage.ru_maxrss * 1024


@pytest.mark.skipif(not ENVIRONMENTS, reason="PBPROBE_TEST_ENVIRONMENTS names no environment")
@pytest.mark.parametrize("place", ENVIRONMENTS, ids=lambda place: place.name)
def test_does_not_read_a_file_again(place, tmp_path):
    host = tmp_path / "host.json"
    host.write_bytes(subprocess.run([PROGRAM, "host", "--format", "json"], capture_output=True, check=True).stdout)
    caches = [tmp_path / name for name in ("read", "whole")]
    for cache in caches:
        cache.mkdir(mode=0o700)
    figures = {}
    for name, cache, options in (("reading", caches[0], ("--host", host)), ("whole", caches[1], ())):
        for when in ("first", "second"):
            figures[name, when] = timed(cache, "report", place, *options)
    for (name, when), (seconds, size) in figures.items():
        print(f"{place.name}: {name}, {when}: {seconds:.1f} s, {size / 1e6:.0f} MB", file=sys.stderr)
    assert figures["reading", "second"][0] < MOST_SECONDS_AGAIN
    assert max(size for _, size in figures.values()) < MOST_BYTES
