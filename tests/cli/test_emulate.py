# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""`pbprobe report --emulate`: a real torch on emulated CPUs."""

import json
import platform
import shutil

import pytest
from test_cli import COULD_NOT_RUN, PASSED, TORCH, needs_torch, run

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or not (shutil.which("qemu-x86_64-static") or shutil.which("qemu-x86_64")),
    reason="needs qemu-x86_64 (apt install qemu-user-static) on x86-64",
)


@needs_torch
@pytest.mark.parametrize(
    "cpu, targets, capability", [("SandyBridge", ["avx"], "DEFAULT"), ("Haswell", ["avx", "avx2"], "AVX2")]
)
def test_torch_computes_correctly_on_the_minimum_cpus(cpu, targets, capability):
    result = run("report", TORCH, "--emulate", cpu, "--format", "json", timeout=200)
    assert result.returncode == PASSED, result.stderr
    report = json.loads(result.stdout)
    assert report["host"]["cpu"]["targets"] == targets
    assert cpu in report["host"]["cpu"]["name"] and "emulated" in report["host"]["cpu"]["name"]
    libtorch = report["measurements"]["libtorch"]
    assert (libtorch["executed"], libtorch["cpu_capability"], libtorch["problem"]) == (True, capability, None)
    assert {area["problem"] for area in libtorch["areas"]} == {None}
    assert report["measurements"]["rows"] == [] and libtorch["figures"] == []
    assert any("emulated by qemu" in note for note in report["measurements"]["notes"])


@needs_torch
def test_names_a_cpu_unknown_to_qemu():
    result = run("report", TORCH, "--emulate", "NoSuchCpu")
    assert result.returncode == COULD_NOT_RUN
    assert "unable to find CPU model 'NoSuchCpu'" in result.stdout
    assert "-cpu help" in " ".join(result.stdout.split())


@needs_torch
def test_names_an_invalid_program(tmp_path):
    (tmp_path / "text").write_text("no program, though it is longer than the header of one would have to be, by far\n")
    for program in (tmp_path / "text", tmp_path / "absent"):
        result = run("report", TORCH, "--emulate", "Haswell", "--program", program)
        assert result.returncode == COULD_NOT_RUN
        assert str(program) in " ".join(result.stdout.split()).replace("- ", "-")
