#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Measures how the time of an audit grows: a folder and a wheel with 1, 2 and 4 copies of a library, in CPU seconds.

growth.py PBPROBE LIBRARY
"""

import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import zipfile


def cpu_seconds(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):  # 1: what holds no libtorch_cpu.so is not a torch
        sys.exit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    program, library = sys.argv[1:]
    for copies in (1, 2, 4):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            (folder / "torch/lib").mkdir(parents=True)
            (folder / "torch/version.py").write_text("__version__ = '2.11.0'\n")
            with zipfile.ZipFile(folder / "x.whl", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as wheel:
                for i in range(copies):
                    copy = shutil.copy(library, folder / f"torch/lib/libtorch_{i}.so")
                    wheel.write(copy, f"torch/lib/libtorch_{i}.so")
            times = [min(cpu_seconds(program, "audit", what) for _ in range(3)) for what in (folder, folder / "x.whl")]
            print(f"{copies} copies: a folder {times[0]:6.2f} s, a wheel {times[1]:6.2f} s")


if __name__ == "__main__":
    main()
