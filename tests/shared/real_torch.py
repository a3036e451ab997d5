# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""One audit of the real torch, for all tests that judge its facts: reading it takes a core half a minute."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import pathlib
import subprocess

from made import MADE, PROGRAM, compute_digest, kept


def describe_files(folder: pathlib.Path) -> str:
    """Names, sizes and times of the shared objects below the folder, which any change of the torch changes."""
    found = [(str(file), file.stat()) for file in sorted(folder.rglob("*.so*")) if file.is_file()]
    return "".join(f"{name} {status.st_size} {status.st_mtime_ns}\n" for name, status in found)


@functools.cache
def audited_torch() -> pathlib.Path:
    """The inventory of PBPROBE_TEST_TORCH as a document, which every command takes in the place of the artifact.

    Written once for each program and torch, whichever process asks first; the others wait.
    """
    site = pathlib.Path(os.environ["PBPROBE_TEST_TORCH"])
    parts = [str(site), compute_digest(PROGRAM), (site / "torch/version.py").read_text()]
    parts += [describe_files(site / name) for name in ("torch", "nvidia")]

    def write(file: pathlib.Path) -> None:
        with file.open("w") as output:
            done = subprocess.run([PROGRAM, "audit", site, "--format", "json"], stdout=output, check=False, timeout=600)
        assert done.returncode in (0, 1), "an inventory that is kept must be whole"

    MADE.mkdir(parents=True, exist_ok=True)
    with (MADE / "real_torch.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return kept("torch.json", hashlib.sha256("\0".join(parts).encode()), write)
