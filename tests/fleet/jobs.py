# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A real job of `python -m pbprobe.fleet` on this machine: a process a rank, each its own node. On its CPU through
Gloo, or with device "cuda" on a GPU a rank through NCCL.
"""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

from nodes import findings

GRACE = 30  # as docs/fleet.md states it


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Job:
    """`env`: more of the environment, by rank. Ranks in `never` are not started. With `network` each rank is in its own
    namespace of it.
    """

    def __init__(
        self, folder, world, minutes=0.25, join=60, env=None, never=(), port=None, outputs=None, network=None, more=(),
        device="cpu",
    ):  # fmt: skip
        self.folder, self.world = folder, world
        self.limit = join + 60 * minutes + GRACE
        self.began = time.monotonic()
        port = port or free_port()
        self.ranks = {}
        for rank in range(world):
            if rank in never:
                continue
            own = {
                "RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1",
                "LOCAL_RANK": str(rank) if device == "cuda" else "0",
                "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1", "NODE_NAME": f"node{rank}",
            }  # fmt: skip
            if network is not None:
                own |= {"MASTER_ADDR": network.address(0), "GLOO_SOCKET_IFNAME": "eth0"}
            output = (outputs or {}).get(rank, folder / "out")
            self.ranks[rank] = subprocess.Popen(
                [
                    *(network.prefix(rank) if network is not None else ()), sys.executable, "-m", "pbprobe.fleet",
                    "--minutes", str(minutes), "--join", str(join), "--output", output, "--device", device,
                    "--strict", *more,
                ],
                env=os.environ | own | (env or {}).get(rank, {}),
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
            )  # fmt: skip

    def await_phase(self, rank, phase, later=False):
        """Waits until the rank is in that phase (with `later`, in a later one). Returns its worker's process."""
        file = self.folder / "out" / f"rank-{rank:05d}.json"
        limit = time.monotonic() + 150
        while time.monotonic() < limit:
            if file.exists():
                phases = json.loads(file.read_text())["ranks"][0]["phases"]
                names = [row["name"] for row in phases]
                if names and (names[-1] == phase or (later and phase in names)):
                    return self.worker(rank)
            time.sleep(0.05)
        raise AssertionError(f"rank {rank} did not come to {phase}")

    def worker(self, rank):
        pid = self.ranks[rank].pid
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if "pbprobe.fleet.worker" in pathlib.Path(f"/proc/{child}/cmdline").read_text():
                return int(child)
        raise AssertionError(f"rank {rank} has no worker")

    def end(self):
        """Exit code of rank 0, the fleet, its findings by rank, and what was printed. Nothing is left running."""
        text = self.ranks[0].communicate(timeout=300)[0]
        self.seconds = time.monotonic() - self.began
        for process in self.ranks.values():
            process.wait(60)
            process.stdout.close()
        elsewhere = re.search(r"what was gathered is in (\S+)", text)
        output = pathlib.Path(elsewhere.group(1) if elsewhere else self.folder / "out") / "fleet.json"
        fleet = json.loads(output.read_text()) if output.exists() else None
        by_rank = {}
        for _, rank, fault, _ in findings(fleet) if fleet else []:
            by_rank.setdefault(rank, set()).add(fault)
        return self.ranks[0].returncode, fleet, by_rank, text

    def stop(self):
        for process in self.ranks.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            process.stdout.close()


def health(env=None, device="cpu"):
    """Exit code, its one line, and seconds."""
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pbprobe.fleet", "--node-health", "--device", device],
        env=os.environ | {"OMP_NUM_THREADS": "1", "NODE_NAME": "node7"} | (env or {}),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout.count("\n") == 1, done.stdout + done.stderr
    return done.returncode, done.stdout, time.monotonic() - begin
