# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A real job of `python -m pbprobe.fleet` on this machine's CPU through Gloo: a process a rank, each its own node."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

from nodes import findings

# Installed for one rank: a bit of one product in some hundred is wrong, as of a broken multiplier.
WRONG_BIT = """
import builtins, sys
original = builtins.__import__
calls = [0]
def patched(name, *rest, **more):
    module = original(name, *rest, **more)
    torch = sys.modules.get("torch")
    if "pbprobe.fleet.figures" in sys.modules and torch is not None and not hasattr(torch, "sound_mm"):
        torch.sound_mm = torch.mm
        def mm(a, b):
            calls[0] += 1
            result = torch.sound_mm(a, b)
            if calls[0] % 32 == 0:
                result.view(torch.int16)[17, 5] ^= 1
            return result
        torch.mm = mm
    return module
builtins.__import__ = patched
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Job:
    """`env`: more of the environment, by rank. Ranks in `never` are not started."""

    def __init__(self, folder, world, minutes=0.25, join=60, env=None, never=(), port=None, outputs=None):
        self.folder, self.world = folder, world
        self.began = time.monotonic()
        port = port or free_port()
        self.ranks = {}
        for rank in range(world):
            if rank in never:
                continue
            own = {
                "RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1", "NODE_NAME": f"node{rank}",
            }  # fmt: skip
            output = (outputs or {}).get(rank, folder / "out")
            self.ranks[rank] = subprocess.Popen(
                [
                    sys.executable, "-m", "pbprobe.fleet", "--minutes", str(minutes), "--join", str(join),
                    "--output", output, "--device", "cpu",
                ],
                env=os.environ | own | (env or {}).get(rank, {}),
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
            )  # fmt: skip

    def wait_for(self, rank, phase):
        """Until the rank is in that phase; returns its worker's process."""
        file = self.folder / "out" / f"rank-{rank:05d}.json"
        limit = time.monotonic() + 150
        while time.monotonic() < limit:
            if file.exists():
                phases = json.loads(file.read_text())["ranks"][0]["phases"]
                if phases and phases[-1]["name"] == phase:
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
        output = self.folder / "out" / "fleet.json"
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
