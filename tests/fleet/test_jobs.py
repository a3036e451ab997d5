# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Jobs of real processes through Gloo. Figures of ranks that share two cores are noise, so what is asked here is who is
named for what it did, that nobody hangs, and that nothing is lost.
"""

import os
import pathlib
import signal

import pytest

pytest.importorskip("torch")
from jobs import WRONG_BIT, Job

import pbprobe

NOISE = {"slow", "late", "slow_link"}  # of a busy machine
GRACE = 30


@pytest.fixture
def start(tmp_path):
    jobs = []

    def begin(*arguments, **more):
        jobs.append(Job(tmp_path, *arguments, **more))
        return jobs[-1]

    yield begin
    for job in jobs:
        job.stop()


def other_version(tmp_path):
    """The package, as a version of its own."""
    site = tmp_path / "other" / "pbprobe"
    site.mkdir(parents=True)
    for path in pathlib.Path(pbprobe.__file__).parent.iterdir():
        (site / path.name).symlink_to(path.resolve())
    (site / "__init__.py").unlink()
    (site / "__init__.py").write_text('__version__ = "0.0.9"\n')
    return {"PYTHONPATH": f"{site.parent}:{os.environ['PYTHONPATH']}"}


def wrong_bit(tmp_path):
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(WRONG_BIT)
    return {"PYTHONPATH": f"{folder}:{os.environ['PYTHONPATH']}"}


def in_time(job, minutes, join):
    return job.seconds < join + 60 * minutes + GRACE


def test_four_faults_in_one_job_are_named_and_the_sound_ranks_are_not(start, tmp_path):
    job = start(6, minutes=0.35, env={3: wrong_bit(tmp_path), 4: other_version(tmp_path)})
    os.kill(job.wait_for(1, "soak"), signal.SIGKILL)
    os.kill(job.wait_for(2, "soak"), signal.SIGSTOP)
    code, fleet, faults, text = job.end()
    assert {rank: kinds - NOISE for rank, kinds in faults.items() if kinds - NOISE} == {
        1: {"died"}, 2: {"hung"}, 3: {"wrong"}, 4: {"different"},
    }, text  # fmt: skip
    assert code == 1 and in_time(job, 0.35, 60)
    reasons = {node["host"]: node["reason"] for node in fleet["nodes"]}
    assert "killed by SIGKILL" in reasons["node1"] and "stopped by a signal" in reasons["node2"]
    assert fleet["differences"][0]["sentence"].startswith("node4: pbprobe 0.0.9; 5 others")
    assert {"node1", "node2", "node3"} <= set((tmp_path / "out" / "exclude.txt").read_text().split())
    assert not any(process.poll() is None for process in job.ranks.values())


def test_a_sound_job_measures_everything_and_verifies_it(start, tmp_path):
    job = start(4, minutes=0.2)
    _, fleet, faults, text = job.end()
    assert {rank: kinds - NOISE for rank, kinds in faults.items() if kinds - NOISE} == {}, text
    assert {row["operation"] for row in fleet["collectives"]} == {
        "all_reduce", "all_gather", "reduce_scatter", "all_to_all",
    }  # fmt: skip
    assert all(row["verified"] == "pass" for row in fleet["collectives"])
    assert {(link["from"], link["to"]) for link in fleet["links"]} == {
        (a, b) for a in range(4) for b in range(4) if a != b
    }
    assert all(len(rank["late_ms"]) > 3 for node in fleet["nodes"] for rank in node["ranks"])
