# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The parts of pbprobe.fleet that need no job."""

import importlib.machinery
import importlib.util
import itertools
import json
import os
import pathlib
import random
import sys
import time

import pytest

pytest.importorskip("torch")
import torch

from pbprobe.fleet import document, kernels, launch, meeting, supervisor, together
from pbprobe.fleet.settings import Settings


@pytest.mark.parametrize("count", [2, 3, 7, 8, 64])
def test_tournament_covers_all_pairs_once(count):
    rounds = together.circle(list(range(count)))
    for one in rounds:
        players = list(itertools.chain(*one))
        assert len(players) == len(set(players))
    assert sorted(itertools.chain(*rounds)) == list(itertools.combinations(range(count), 2))


def test_rail_rounds_cover_each_rail():
    hosts = [f"n{rank // 8}" for rank in range(512)]
    rounds = together.tournament(list(range(512)), hosts)
    assert len(rounds) == 7 + together.MOST_ACROSS
    across = [pair for one in rounds for pair in one if hosts[pair[0]] != hosts[pair[1]]]
    assert all(a % 8 == b % 8 for a, b in across)
    assert set(itertools.chain(*across)) == set(range(512))


@pytest.mark.parametrize(
    "nodes, first",
    [("gpu[003-007,12],login1", "gpu003"), ("gpu7", "gpu7"), ("a1,b[2-3]", "a1"), ("n[1,3]", "n1")],
)
def test_parses_first_host_of_slurm_list(nodes, first):
    assert launch.first_host(nodes) == first


def test_finds_place_of_each_launcher():
    torchrun = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "MASTER_ADDR": "a", "MASTER_PORT": "5",
                "TORCHELASTIC_USE_AGENT_STORE": "True"}  # fmt: skip
    assert launch.find_place(torchrun) == launch.Place(3, 8, 1, "a", 5, True)
    slurm = {"SLURM_PROCID": "9", "SLURM_NTASKS": "16", "SLURM_LOCALID": "1", "SLURM_STEP_NODELIST": "gpu[01-02]",
             "SLURM_JOB_ID": "1007"}  # fmt: skip
    assert launch.find_place(slurm) == launch.Place(9, 16, 1, "gpu01", launch.DEFAULT_PORT + 7, False)
    mpi = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}
    with pytest.raises(ValueError, match="MASTER_ADDR"):
        launch.find_place(mpi)
    assert launch.find_place({}) is None


def test_writes_document_atomically(tmp_path):
    file = document.document_path(tmp_path / "new", 3)
    made = document.new_document("node1", "0.1.0", 4, 3, 3)
    assert document.write_document(file, made) is None
    assert json.loads(file.read_text()) == made and [path.name for path in file.parent.iterdir()] == [file.name]
    (tmp_path / "in the way").write_text("")
    assert "could not be written" in document.write_document(tmp_path / "in the way" / "x", made)


def test_computes_spreads_of_generated_reports():
    file = pathlib.Path(__file__).parents[2] / "tools/fleet-simulation"
    loader = importlib.machinery.SourceFileLoader("fleet_simulation", str(file))
    simulation = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(simulation)
    dice = random.Random(1)
    hosts = {}
    for host in range(200):
        of_node = dice.gauss(1, 0.02)
        hosts[str(host)] = {}
        for gpu in range(8):
            of_gpu = of_node * dice.gauss(1, 0.01)
            hosts[str(host)][gpu] = [100 * of_gpu * dice.gauss(1, 0.005) for _ in range(3)]
    assert simulation.compute_spreads(hosts) == pytest.approx((0.02, 0.01, 0.005), rel=0.1)
    assert simulation.compute_spreads({"one": {0: [1.0, 1.0]}}) == (0, 0, 0)


def kernels_of_the_cpu():
    row = {"figures": {}, "wrong": [], "errors": []}
    kernels.measure_kernels(row, torch.device("cpu"), time.monotonic() + 60)
    return row


def test_verifies_and_times_own_kernels():
    row = kernels_of_the_cpu()
    assert row["wrong"] == [] and set(row["figures"]) == {"kernel_bf16_tflops", "kernel_int8_tops"}
    assert all(figure["verified"] and figure["value"] > 0 for figure in row["figures"].values())


@pytest.mark.parametrize(
    "problem, wrong",
    [
        ("gemm_int8_sm90 is wrong on m 256, n 256, k 256, nt, and so has no rate: C[3,4] is 7 instead of 6", True),
        ("gemm_int8_sm90 fails on m 256, n 256, k 256, nt, and so has no rate: CUDA_ERROR_ILLEGAL_ADDRESS", False),
    ],
)
def test_distinguishes_wrong_kernel_from_failed_run(tmp_path, monkeypatch, problem, wrong):
    answer = tmp_path / "pbprobe"
    answer.write_text(f"#!/bin/sh\necho '{json.dumps({'rows': [], 'problems': [problem]})}'\nexit 1\n")
    answer.chmod(0o755)
    monkeypatch.setattr(kernels, "PROGRAM", answer)
    row = kernels_of_the_cpu()
    found = [{"what": name, "how": f"the exact result: {problem}", "count": 1} for name in kernels.FIGURES.values()]
    assert (row["wrong"], row["errors"]) == ((found, []) if wrong else ([], [problem] * 2))
    assert row["figures"] == {}


def test_skips_kernels_without_time():
    row = {"figures": {}, "wrong": []}
    kernels.measure_kernels(row, torch.device("cpu"), time.monotonic() + 0.5)
    assert row == {"figures": {}, "wrong": []}


@pytest.mark.parametrize("seconds, least, most", [(0.2, 0, 0), (1.8, 8, 9), (60, 399, 399)])
def test_calls_no_rank_late_after_few_rounds(seconds, least, most, monkeypatch):
    """After a late rank, the others reached lockstep with almost no time left, and a single round was judged."""
    monkeypatch.setattr(torch, "mm", lambda a, _: a)  # on a busy machine a round of them takes a sixth of a second
    met = meeting.Meeting(torch.distributed.HashStore(), 0, 1)
    row = {"facts": {}, "figures": {}, "late_ms": []}
    deadline = time.monotonic() + 60
    with together.group(met, "lockstep", torch.device("cpu"), deadline):
        together.measure_lockstep(row, met, torch.device("cpu"), time.monotonic() + seconds)
    assert least <= len(row["late_ms"]) <= most
    assert ("lockstep" in row["facts"]) == (row["figures"] == {}) == (most == 0)


def test_torch_keeps_worker_with_silent_peer(tmp_path, monkeypatch):
    """torchrun asks for that, in words that a worker inherits: not this one."""
    monkeypatch.setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")
    place = launch.Place(0, 2, 0, "127.0.0.1", 1, False)
    settings = Settings(place, "node0", str(tmp_path), "0.1.0", 3.0, 1.0, "cpu", False)
    tell = "import json, os, sys; os.write(int(sys.argv[1]), json.dumps(dict(os.environ)).encode())"
    monkeypatch.setattr(Settings, "command", lambda *_: [sys.executable, "-c", tell])
    begun = supervisor.Supervisor(settings)
    assert begun.worker.wait(60) == 0
    env = json.loads(os.read(begun.pipe, 1 << 16))
    assert (env["TORCH_NCCL_ASYNC_ERROR_HANDLING"], env["TORCH_NCCL_ENABLE_MONITORING"]) == ("0", "0")
