# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The aarch64 wheel of torch 2.10.0 on CPUs that QEMU makes up, by the cross-built program of `make cross`."""

import json
import os
import platform
import shutil
import subprocess
import zipfile

import pytest
from builds import BUILDS, FOLDER, PROGRAM, SOURCE

CROSS = SOURCE / "build/aarch64/bin/pbprobe"
WHEEL = next(build for build in BUILDS if "2.10.0" in build.name)

pytestmark = [
    pytest.mark.skipif(not FOLDER, reason="PBPROBE_TEST_BUILDS names no folder: tests/real/fetch_builds FOLDER"),
    pytest.mark.skipif(not CROSS.exists(), reason=f"{CROSS} was not built: make cross"),
    pytest.mark.skipif(not shutil.which("qemu-aarch64-static"), reason="needs qemu-user-static"),
    pytest.mark.skipif(platform.machine() == "aarch64", reason="this machine runs it by itself"),
]


@pytest.fixture(scope="module")
def torch(tmp_path_factory):
    folder = tmp_path_factory.mktemp("torch")
    with zipfile.ZipFile(WHEEL.source) as wheel:
        wheel.extractall(folder)
    return folder


def emulated(torch, cpu):
    """Returns the report's libtorch on the CPU. The wheel lacks libz: uses the libz of the cross build's sysroot."""
    libz = SOURCE / "build/aarch64-sysroot/lib/aarch64-linux-gnu"
    done = subprocess.run(
        [PROGRAM, "report", torch, "--emulate", cpu, "--program", CROSS, "--format", "json"],
        env={**os.environ, "LD_LIBRARY_PATH": str(libz)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.startswith("{"), done.stderr
    return json.loads(done.stdout)["measurements"]["libtorch"]


@pytest.mark.parametrize(
    "cpu, capability", [("max", "DEFAULT"), ("neoverse-n1", "DEFAULT"), ("max,sve-default-vector-length=32", "SVE256")]
)
def test_it_computes_correctly_by_the_capability_of_the_cpu(torch, cpu, capability):
    libtorch = emulated(torch, cpu)
    assert libtorch["problem"] is None
    assert (libtorch["executed"], libtorch["cpu_capability"], libtorch["version"]) == (True, capability, "2.10.0")
    assert {area["problem"] for area in libtorch["areas"]} == {None}


def test_names_the_instruction_on_a_cpu_below_the_minimum(torch):
    libtorch = emulated(torch, "cortex-a72")
    assert not libtorch["executed"]
    assert "SIGILL" in libtorch["problem"]
    assert "bytes" in libtorch["problem"]
