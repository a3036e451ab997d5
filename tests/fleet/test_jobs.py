# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Jobs of real processes through Gloo. Figures of ranks that share two cores are noise: these tests check that faulty
ranks are named, that no rank hangs, and that no report is lost. test_faults.py plants each fault separately.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("torch")
import planted_faults
from jobs import Job, free_port, health
from nodes import findings

NOISE = {"slow", "late", "slow_link", "slower"}  # of a busy machine


@pytest.fixture
def start(tmp_path):
    jobs = []

    def begin(*arguments, **more):
        jobs.append(Job(tmp_path, *arguments, **more))
        return jobs[-1]

    yield begin
    for job in jobs:
        job.stop()


def test_names_five_faults_in_one_job(start, tmp_path):
    job = start(
        6, minutes=0.2,
        env={
            1: planted_faults.strike(tmp_path / "1", "links", signal.SIGKILL),
            2: planted_faults.strike(tmp_path / "2", "soak", signal.SIGSTOP),
            3: planted_faults.wrong_bit(tmp_path),
            4: planted_faults.other_version(tmp_path),
            5: planted_faults.clock_off(tmp_path, -7200),
        },
    )  # fmt: skip
    code, fleet, faults, text = job.end()
    assert {rank: kinds - NOISE for rank, kinds in faults.items() if kinds - NOISE} == {
        1: {"died"}, 2: {"hung"}, 3: {"wrong"}, 4: {"different"}, 5: {"different"},
    }, text  # fmt: skip
    assert code == 1 and job.seconds < job.limit
    what = {(rank["rank"], finding["fault"]): finding["what"] for node in fleet["nodes"] for rank in node["ranks"]
            for finding in rank["findings"]}  # fmt: skip
    assert "died in links: killed by SIGKILL" in what[1, "died"] and "stopped by a signal" in what[2, "hung"]
    sentences = [difference["sentence"] for difference in fleet["differences"]]
    assert any(sentence.startswith("node4: pbprobe 0.0.9; 5 others") for sentence in sentences)
    assert "node5: the system clock is 2 h 0 min behind the clocks of most nodes" in sentences
    excluded = set((tmp_path / "out" / "exclude.txt").read_text().split())
    assert {"node1", "node2", "node3"} <= excluded
    assert not {f"node{rank}" for rank in (4, 5) if faults[rank] == {"different"}} & excluded
    page = (tmp_path / "out" / "fleet.html").read_text()
    assert "node5: the system clock is 2 h 0 min behind" in page and len(page) < 500_000
    assert not any(process.poll() is None for process in job.ranks.values())


def agent(folder, node, port, *more):
    """A torchrun of two nodes, which starts two ranks here."""
    command = [
        sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "2", "--node-rank", node,
        "--master-addr", "127.0.0.1", "--master-port", port, "-m", "pbprobe.fleet", "--minutes", "0.25",
        "--device", "cpu", "--output", folder / "out", *more,
    ]  # fmt: skip
    env = os.environ | {"NODE_NAME": f"node{node}", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        list(map(str, command)),
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def torchrun(folder, *more):
    """Exit code of the first, what it printed, and the fleet."""
    port = free_port()
    agents = [agent(folder, node, port, *more) for node in range(2)]
    try:
        texts = [one.communicate(timeout=200)[0] for one in agents]
    finally:
        for one in agents:
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGKILL)
    file = folder / "out" / "fleet.json"
    assert file.exists(), texts
    fleet = json.loads(file.read_text())
    # Unknown ends with 0: torchrun prints no traceback. Ranks that share two cores may be slow, which fails.
    codes = [one.returncode for one in agents]
    assert codes[0] == int(fleet["outcome"] == "fail") and codes[1] <= codes[0], texts
    return texts[0], fleet


def test_measures_and_compares_under_torchrun(tmp_path):
    before = tmp_path / "before.json"
    baseline = {name: [] for name in ("differences", "problems", "rules", "collectives", "links")}
    baseline |= {"schema": "pbprobe.fleet/1", "created": "", "pbprobe_version": "", "outcome": "pass", "reason": ""}
    baseline |= {"false_alarm_rate": 1e-4}
    baseline["nodes"] = [{"host": "node9", "outcome": "pass", "reason": "", "excluded": False, "ranks": []}]
    before.write_text(json.dumps(baseline))
    text, fleet = torchrun(tmp_path, "--baseline", before)
    found = [(host, fault) for host, _, fault, _ in findings(fleet) if fault not in NOISE]
    assert found == [("node9", "missing")] and fleet["baseline"] == str(before), text
    assert [(node["host"], len(node["ranks"])) for node in fleet["nodes"]] == [("node0", 2), ("node1", 2), ("node9", 1)]
    assert {row["operation"] for row in fleet["collectives"]} == {
        "all_reduce", "all_gather", "reduce_scatter", "all_to_all",
    }  # fmt: skip
    assert all(row["verified"] == "pass" for row in fleet["collectives"])
    within = {(link["from"], link["to"]) for link in fleet["links"] if link["within_node"]}
    assert within == {(0, 1), (1, 0), (2, 3), (3, 2)}
    assert {(link["from"], link["to"]) for link in fleet["links"]} - within == {(0, 2), (2, 0), (1, 3), (3, 1)}
    assert all(len(rank["late_ms"]) > 0 for node in fleet["nodes"][:2] for rank in node["ranks"])
    assert re.search("no report of it; the baseline has it", text)


@pytest.fixture(scope="module")
def waiting(tmp_path_factory):
    """Jobs whose ranks mostly wait for deadlines, all at once: each job, and what its end() returned."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("gpus", "stuck", "stopped")}
    gpus, stuck, stopped = folders.values()
    faults = {
        "gpus": {rank: planted_faults.claims_gpu(gpus / str(rank)) for rank in (0, 2)},
        "stuck": {rank: planted_faults.stuck(stuck / str(rank)) for rank in range(3)},
        "stopped": {
            0: planted_faults.stuck(stopped / "0"),
            1: planted_faults.strike(stopped / "1", "collectives", signal.SIGSTOP),
        },
    }
    worlds = {"gpus": 3, "stuck": 3, "stopped": 2}
    jobs = {name: Job(folder, worlds[name], minutes=0.12, env=faults[name]) for name, folder in folders.items()}
    try:
        with ThreadPoolExecutor(len(jobs)) as pool:
            ends = dict(zip(jobs, pool.map(Job.end, jobs.values())))
    finally:
        for job in jobs.values():
            job.stop()
    return {name: (jobs[name], ends[name]) for name in jobs}


def test_names_rank_without_gpu_and_others_continue(waiting):
    job, (code, fleet, faults, _) = waiting["gpus"]
    assert code == 1 and {rank: kinds - NOISE for rank, kinds in faults.items() if kinds - NOISE} == {1: {"error"}}
    assert "torch sees no GPU on this rank, but on other ranks" in json.dumps(fleet) and job.seconds < job.limit
    assert {row["ranks"] for row in fleet["collectives"]} == {2}


def test_blocked_ranks_keep_their_measurements(waiting):
    job, (code, fleet, faults, text) = waiting["stuck"]
    assert (code, [faults.get(rank, set()) - NOISE for rank in range(3)]) == (1, [{"error"}] * 3), text
    assert "collectives could not run: the phase did not end by its deadline" in json.dumps(fleet)
    assert job.seconds < job.limit
    excluded = set((job.folder / "out" / "exclude.txt").read_text().split())
    assert not {f"node{rank}" for rank in range(3) if faults[rank] == {"error"}} & excluded
    assert all(rank["figures"] for node in fleet["nodes"] for rank in node["ranks"])


def test_does_not_blame_waiting_rank(waiting):
    job, (code, _, faults, text) = waiting["stopped"]
    assert (code, {rank: kinds - NOISE for rank, kinds in faults.items() if kinds - NOISE}) == (1, {1: {"hung"}}), text
    assert job.seconds < job.limit


def test_rejects_invalid_baseline_before_running(start, tmp_path):
    (tmp_path / "other.json").write_text('{"schema": "pbprobe.report/1"}')
    job = start(1, more=("--baseline", tmp_path / "other.json"))
    code, fleet, _, text = job.end()
    assert (code, fleet) == (2, None) and "other.json is not a fleet.json" in text and job.seconds < 10
    assert not pathlib.Path(tmp_path / "out").exists()


def test_node_health_prints_one_line_in_time(tmp_path):
    code, line, seconds = health()
    assert (code, line) == (0, "PASS  1 of 1 nodes pass\n") and seconds < 20
    code, line, seconds = health(planted_faults.wrong_bit(tmp_path))
    assert code == 1 and re.match(r"FAIL  1 of 1 nodes failed: node7; .* differs from .* at \[17, 5\]", line)
    assert seconds < 20
