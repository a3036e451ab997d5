# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The gate loads what it judges on an emulated CPU of the claimed row, and says what became of it."""

import json
import os
import shutil
import subprocess

import pytest
from faults import full_name, get_library, tiny_table
from made import PROGRAM
from variants import C10, sound

CLAIM = full_name("cpu-avx2")
# Does not name an instruction set, so that only its code reveals it.
ILLEGAL = """
extern "C" __attribute__((constructor)) void start_avx512(void) { __asm__ volatile("vaddps %zmm1, %zmm0, %zmm0"); }
"""
pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="QEMU's rows are x86-64's here")


def gated(build, folder, *options, path=None) -> dict:
    command = [
        PROGRAM,
        "gate",
        build.write(folder),
        "--claim",
        CLAIM,
        "--reference",
        tiny_table(),
        "--format",
        "json",
        *options,
    ]
    environment = os.environ | ({"PATH": path} if path is not None else {})
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def outcome(reported: dict) -> str:
    return next(one["outcome"] for one in reported["emulated_loads"] if one["target"] == "avx2")


@pytest.fixture
def planted():
    build = sound(CLAIM)
    own = get_library(build, C10)
    return build.but({C10: own.but(code=own.code + ILLEGAL)})


needs_qemu = pytest.mark.skipif(
    not (shutil.which("qemu-x86_64-static") or shutil.which("qemu-x86_64")), reason="no qemu-x86_64"
)


@needs_qemu
def test_fails_a_build_that_dies_on_the_claimed_cpu(planted, tmp_path):
    reported = gated(planted, tmp_path)
    assert outcome(reported) == "died", reported["emulated_loads"]
    found = {finding["id"]: finding for finding in reported["verdict"]["findings"]}
    assert "an illegal instruction" in found["PB215"]["what"]
    assert "libc10.so" in found["PB215"]["where"]
    assert reported["verdict"]["outcome"] == "fail"


@needs_qemu
def test_loads_a_sound_build(tmp_path):
    reported = gated(sound(CLAIM), tmp_path)
    assert outcome(reported) == "loaded", reported["emulated_loads"]
    assert {check["id"]: check["state"] for check in reported["verdict"]["checks"]}["PB215"] == "passed"
    assert reported["verdict"]["outcome"] == "pass"


def test_reports_a_missing_qemu_without_a_fault(tmp_path):
    reported = gated(sound(CLAIM), tmp_path, path=str(tmp_path))
    assert outcome(reported) == "unknown"
    assert "not installed" in reported["emulated_loads"][0]["what"]
    assert reported["verdict"]["outcome"] == "pass"


def test_skips_the_run_on_request(planted, tmp_path):
    assert gated(planted, tmp_path, "--no-emulated-run")["emulated_loads"] is None
