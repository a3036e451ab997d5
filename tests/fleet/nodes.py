# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Reports of nodes, as they would be written, and what `pbprobe merge` makes of them."""

import copy
import json
import os
import pathlib
import shutil
import subprocess

BUILD = pathlib.Path(os.environ.get("PBPROBE_TEST_BUILD", pathlib.Path(__file__).parents[2] / "build"))
PROGRAM = BUILD / "bin" / "pbprobe"

LIBRARIES = {"nccl": {"version": "2.28.9", "sha256": "12" * 32}, "torch": {"version": "2.11.0", "sha256": None}}


def make_rank(rank, local_rank, speed=1.0):
    wobble = 1 + 0.002 * ((rank * 7919) % 11 - 5) / 5
    return {
        "rank": rank, "local_rank": local_rank, "device": "NVIDIA H200", "uuid": None, "state": "finished",
        "state_why": None, "facts": {},
        "figures": {
            "gemm_bf16_tflops": {
                "value": 700 * wobble * speed, "lower_is_better": False, "verified": True, "spread": 0.001,
            }
        },
        "digests": {"gemm_bf16_tflops": "ab" * 32}, "links": [], "collectives": [], "late_ms": [],
        "phases": [{"name": "soak", "state": "done", "seconds": 9.0, "why": None}], "wrong": [], "errors": [],
    }  # fmt: skip


def make_fleet(nodes=4, gpus=8):
    """One document a node."""
    return [
        {
            "schema": "pbprobe.node/1", "host": f"node{node:02d}", "created": "2026-11-25T00:00:00Z",
            "pbprobe_version": "0.1.0", "world": nodes * gpus, "roster": [], "absent": [],
            "libraries": copy.deepcopy(LIBRARIES),
            "ranks": [make_rank(node * gpus + gpu, gpu) for gpu in range(gpus)],
        }
        for node in range(nodes)
    ]  # fmt: skip


def merge(folder, documents, *arguments):
    """Returns exit code, fleet document (None if none was written) and printed text."""
    reports = folder / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir()
    for i, document in enumerate(documents):
        text = document if isinstance(document, str) else json.dumps(document)
        (reports / f"node-{i:03d}.json").write_text(text)
    output = folder / "fleet.json"
    done = subprocess.run(
        [PROGRAM, "merge", reports, "--output", output, *map(str, arguments)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    fleet = json.loads(output.read_text()) if output.exists() else None
    return done.returncode, fleet, done.stdout + done.stderr


def findings(fleet):
    """(host, rank, fault, outcome) of each."""
    return [
        (node["host"], rank["rank"], finding["fault"], finding["outcome"])
        for node in fleet["nodes"]
        for rank in node["ranks"]
        for finding in rank["findings"]
    ]
