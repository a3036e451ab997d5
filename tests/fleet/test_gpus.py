# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Two ranks on two GPUs through NCCL: a sound job, a node's health, ranks that die or stop, a GPU that is busy."""

import json
import signal
import subprocess
import sys

import pytest

pytest.importorskip("torch")
import planted_faults
import torch
from jobs import Job, health

pytestmark = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there are no two GPUs")
OTHER_WORK = """
import torch
a = torch.randn(8192, 8192, device="cuda:1", dtype=torch.bfloat16)
print("begun", flush=True)
while True:
    a @ a
    torch.cuda.synchronize()
"""


@pytest.fixture
def start(tmp_path):
    jobs = []

    def begin(**more):
        jobs.append(Job(tmp_path, 2, device="cuda", minutes=0.4, **more))
        return jobs[-1]

    yield begin
    for job in jobs:
        job.stop()


def test_sound_gpus_pass_every_phase(start):
    job = start()
    code, fleet, faults, text = job.end()
    assert (code, faults) == (0, {}), text
    assert {row["verified"] for row in fleet["collectives"]} == {"pass"}
    assert len(fleet["links"]) == 2 and {row["bytes"] for row in fleet["collectives"]} >= {1 << 20, 1 << 24}
    figures = fleet["nodes"][0]["ranks"][0]["figures"]
    facts = json.loads((job.folder / "out" / "rank-00000.json").read_text())["ranks"][0]["facts"]
    asked, count = facts["sms_verified"].split(" of ")
    assert asked == count and int(count) > 1 and {"throttled_in_soak", "pci.bus_id", "nvlink"} <= set(facts), facts
    assert {"hbm_copy_gb_per_s", "kernel_bf16_tflops", "gemm_int8_tops", "soak_clock_mhz"} <= set(figures)


def test_node_health_takes_under_20_seconds():
    code, line, seconds = health(device="auto")
    assert code == 0 and line.startswith("PASS") and seconds < 20, (line, seconds)


@pytest.mark.parametrize("phase", ["soak", "collectives"])
def test_names_dead_rank_and_other_continues(start, tmp_path, phase):
    job = start(env={1: planted_faults.strike(tmp_path, phase, signal.SIGKILL)})
    code, _, faults, text = job.end()
    assert (code, faults) == (1, {1: {"died"}}), text
    assert f"died in {phase}: killed by SIGKILL" in text and job.seconds < job.limit


def test_names_stopped_rank_and_other_continues(start, tmp_path):
    job = start(env={1: planted_faults.strike(tmp_path, "links", signal.SIGSTOP)})
    code, _, faults, text = job.end()
    assert (code, faults) == (1, {1: {"hung"}}), text
    assert "stopped by a signal" in text and job.seconds < job.limit


def test_names_only_the_slowed_gpu(start):
    with subprocess.Popen([sys.executable, "-c", OTHER_WORK], stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout.readline() == "begun\n"
            code, _, faults, text = start().end()
        finally:
            other.kill()
    assert code == 1 and set(faults) == {1} and "slow" in faults[1], text
