# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""One node, for a prolog: a rank a GPU, or one on the CPU, in under 20 seconds."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS = 6.0  # the budget; starting and joining come on top
SECONDS_ON_GPUS = 9.0  # with NCCL's start
LIMIT = 18.0  # then what is written is judged, within a second
COULD_NOT_RUN = 2


def count_gpus() -> int:
    """Counts the GPUs that the driver shows, without opening them. A container may have fewer devices than the driver
    lists.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([name for name in visible.split(",") if name.strip() and name.strip() != "-1"])
    devices = len([path for path in Path("/dev").glob("nvidia*") if re.fullmatch(r"nvidia\d+", path.name)])
    folder = Path("/proc/driver/nvidia/gpus")
    listed = len(list(folder.iterdir())) if folder.is_dir() else 0
    return min(devices, listed) if devices and listed else max(devices, listed)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def check_node(device: str) -> int:
    """Prints one line. 0 pass, 1 fail or no answer, 2 could not run."""
    gpus = 0 if device == "cpu" else count_gpus()
    world = max(gpus, 1)
    minutes = (SECONDS_ON_GPUS if gpus else SECONDS) / 60
    with tempfile.TemporaryDirectory(prefix="pbprobe-health-") as folder:
        shared = {"WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
        command = [
            sys.executable, "-m", "pbprobe.fleet", "--minutes", str(minutes), "--join", "10", "--output", folder,
            "--device", device,
        ]  # fmt: skip
        ranks = []
        for rank in range(world):
            env = (
                os.environ
                | shared
                | {"RANK": str(rank), "LOCAL_RANK": str(rank), "TORCHELASTIC_USE_AGENT_STORE": "False"}
            )
            ranks.append(subprocess.Popen([*command], env=env, stdout=subprocess.DEVNULL, start_new_session=True))
        try:
            code = ranks[0].wait(LIMIT)
        except subprocess.TimeoutExpired:
            code = COULD_NOT_RUN
        for process in ranks:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return _say(Path(folder), code)


def _say(folder: Path, code: int) -> int:
    from pbprobe._environment import PROGRAM

    reports = sorted(map(str, folder.glob("rank-*.json")))
    if not reports:
        sys.stdout.write(f"UNKNOWN  this node wrote no report within {LIMIT:.0f} s\n")
        return COULD_NOT_RUN
    judged = subprocess.run([str(PROGRAM), "merge", *reports, "--strict", "--quiet"], check=False)
    return judged.returncode if code != COULD_NOT_RUN else max(judged.returncode, 1)
