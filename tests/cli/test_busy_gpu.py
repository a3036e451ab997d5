# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A real CUDA libtorch on a GPU that another process uses. Doubles of the driver and NVML replace the hardware."""

import json
import os
import pathlib
import re
import subprocess

import pytest
from test_cli import FAILED, SOURCE, TORCH, needs_torch, run

DOUBLE = pathlib.Path(__file__).with_name("busy_driver.c")
needs_cuda_torch = pytest.mark.skipif(
    not (pathlib.Path(TORCH or "/nonexistent") / "torch/lib/libtorch_cuda.so").exists(),
    reason="PBPROBE_TEST_TORCH names no CUDA build",
)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """Folder for LD_LIBRARY_PATH."""
    folder = tmp_path_factory.mktemp("driver")
    wanted = set(re.findall(r'"(cu[A-Z]\w+)"', (SOURCE / "core/driver/driver_api.hpp").read_text()))
    there = set(re.findall(r"^int (cu\w+)\(", DOUBLE.read_text(), re.MULTILINE))
    refused = sorted(wanted - there)
    (folder / "refused.inc").write_text("".join(f"REFUSE({name})\n" for name in refused))
    library = folder / "libcuda.so.1"
    command = ["cc", "-shared", "-fPIC", "-I", folder, "-Wl,-soname,libcuda.so.1", "-o", library, DOUBLE, "-ldl"]
    subprocess.run(command, check=True)
    (folder / "libnvidia-ml.so.1").symlink_to(library.name)
    return folder


def read_report(machine, answer: int, *options: str, **more) -> dict:
    paths = f"{machine}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    environment = {"LD_LIBRARY_PATH": paths, "FAKE_CUDA_ANSWER": str(answer), **more}
    # Without figures a large budget costs nothing, and a busy machine takes minutes to read a CUDA torch. The first
    # report has no figures: the others find what it read in the cache.
    budget = "600" if "--no-figures" in options else "30"
    result = run("report", TORCH, "--format", "json", "--budget", budget, *options, env=environment, timeout=700)
    return json.loads(result.stdout)


def find_check(report: dict, check: str) -> dict:
    return next(row for row in report["verdict"]["checks"] if row["id"] == check)


def failures(report: dict) -> set[str]:
    return {finding["id"] for finding in report["verdict"]["findings"] if finding["severity"] == "fail"}


@needs_torch
@needs_cuda_torch
@pytest.mark.parametrize(("answer", "obstacle"), [(2, "out_of_memory"), (46, "busy"), (214, "device_failed")])
def test_reports_unknown_and_names_the_other_process(machine, answer, obstacle):
    # CPU rows are the same whatever the GPU answers: one of the reports times them.
    report = read_report(machine, answer, *(() if obstacle == "busy" else ("--no-figures",)))
    libtorch = report["measurements"]["libtorch"]
    assert (libtorch["executed"], libtorch["executed_on_gpu"], libtorch["obstacle"]) == (True, None, obstacle)
    assert failures(report) == set()
    assert find_check(report, "PB503")["state"] == "unanswered"
    assert report["verdict"]["outcome"] == "unknown"
    before = report["measurements"]["gpu_use"][0]
    assert before["processes"] == [{"pid": 4711, "name": "python3", "memory_bytes": 139 << 30}]
    if obstacle != "device_failed":
        assert "0.2 of 140.0 GiB of the memory of cuda:0 are free" in find_check(report, "PB503")["why"]
        assert "python3 (process 4711) holds 139.0 GiB" in report["verdict"]["reason"]
        assert "end process 4711, or wait for it" in report["verdict"]["fix"]
    assert bool(report["measurements"]["rows"]) == (obstacle == "busy")
    for row in report["measurements"]["rows"]:
        assert ("python3" in (row["disturbed"] or "")) == (row["threads"] == 0)


@needs_torch
@needs_cuda_torch
@pytest.mark.parametrize("answer", [715, 700])
def test_reports_a_broken_rule_as_fault(machine, answer):
    report = read_report(machine, answer, "--no-figures", FAKE_NVML_NOBODY="1")
    libtorch = report["measurements"]["libtorch"]
    assert (libtorch["executed"], libtorch["executed_on_gpu"], libtorch["obstacle"]) == (True, False, None)
    assert "PB503" in failures(report)
    assert report["verdict"]["outcome"] == "fail"


@needs_torch
@needs_cuda_torch
def test_gate_does_not_pass_on_a_busy_gpu(machine):
    """The files keep the claim, and Python imports the torch: only the results of the GPU are unknown."""
    environment = {"LD_LIBRARY_PATH": str(machine), "FAKE_CUDA_ANSWER": "2"}
    command = ["gate", TORCH, "--claim", "cuda=13.0,sm90,avx512", "--require", "executed", "--format", "json"]
    result = run(*command, env=environment, timeout=300)
    assert result.returncode == FAILED
    verdict = json.loads(result.stdout)["verdict"]
    assert [row["shipped"] for row in verdict["claims"] if row["claimed"]] == ["pass"] * 3
    objections = {one["id"]: one for one in verdict["objections"]}
    assert {one["outcome"] for one in objections.values()} == {"unknown"}
    assert "python3 (process 4711)" in objections["PB503"]["what"]
