# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The builds that faults are planted in, and what `pbprobe audit` finds in them."""

from __future__ import annotations

import atexit
import functools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from made import BUILD, MACHINE, PROGRAM, cuda_release
from small_builds import HOST_CODE, Build, Library, linked, unit

__all__ = ["BUILD", "HOST_CODE", "MACHINE", "PROGRAM", "Build", "Library", "cuda_release", "linked", "unit"]

CPU = "torch/lib/libtorch_cpu.so"
CUDA = "torch/lib/libtorch_cuda.so"
NCCL = "nvidia/nccl/lib/libnccl.so.2"
BESIDE = ("libcudnn.so.9", "libmagma.so", "libnvshmem_host.so.3")  # what libtorch_cuda.so needs
ANY = "torch=2.11.0"  # a claim that says no more than the version


@functools.cache
def scratch() -> pathlib.Path:
    """A folder for what a session makes once; conftest.py removes it."""
    return pathlib.Path(tempfile.mkdtemp(prefix="pbprobe-planted-"))


def shared(name: str, mode: int) -> str:
    """Creates a folder below /opt, which holds installed software."""
    folder = pathlib.Path("/opt") / f"pbprobe-{name}-{os.getpid()}"
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        pytest.skip(f"{folder} cannot be made: {error}")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(mode)
    return str(folder)


def cpu(library: Library | None = None, **changes) -> Build:
    """A CPU build."""
    return Build({CPU: library or Library()}).but(**changes)


def cuda(units=("first120.o", "second120.o"), *, nccl=None, magma="sm120.fatbin", machine=MACHINE, **changes) -> Build:
    """A CUDA build for sm_120, with cuDNN, MAGMA and NVSHMEM; `nccl`: units of one."""
    release = cuda_release()
    plain = Library(machine=machine)
    libraries = {CPU: plain, CUDA: Library(needs=BESIDE, units=tuple(units), machine=machine)}
    libraries |= {f"torch/lib/{name}": plain for name in BESIDE}
    libraries["torch/lib/libmagma.so"] = Library(machine=machine, units=(magma,) if magma else ())
    if nccl:
        libraries[NCCL] = Library(units=tuple(nccl))
    local = "+cu" + release.replace(".", "")
    tag = f"cp311-cp311-manylinux_2_39_{machine}"
    return Build(libraries, version="2.11.0" + local, cuda=release, tag=tag).but(**changes)


def audit(
    folder: pathlib.Path, claim: str, *options: str, environment: dict[str, str] | None = None
) -> tuple[dict[str, dict], int]:
    """Findings by their ids, and the exit code."""
    command = [PROGRAM, "audit", folder, "--claim", claim, "--format", "json", *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)
    assert result.returncode in (0, 1), result.stderr
    findings = json.loads(result.stdout)["verdict"]["findings"]
    return {finding["id"]: finding for finding in findings}, result.returncode
