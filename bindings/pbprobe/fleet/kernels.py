# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""pbprobe's own kernels on a rank's device: their bits against the exact result, then their rate."""

import json
import os
import subprocess
import time
from typing import Any

import torch

from pbprobe._environment import PROGRAM
from pbprobe.fleet.figures import figure
from pbprobe.fleet.identity import get_uuid

FIGURES = {"bf16": "kernel_bf16_tflops", "int8": "kernel_int8_tops"}
LEAST = 1.0  # seconds, in which one is verified at least
WRONG = " is wrong on "  # in the program's words of a kernel; of another one it says why it has no rate

Row = dict[str, Any]


def _command(dtype: str, device: torch.device, seconds: float) -> list[str]:
    command = [str(PROGRAM), "bench", "--dtype", dtype, "--chosen", "--format", "json", "--budget", f"{seconds:.0f}"]
    if device.type != "cuda":
        return [*command, "--shape", "256x256x256", "--threads", "1"]
    major, minor = torch.cuda.get_device_capability(device)
    return [*command, "--shape", "4096x4096x4096", "--target", f"sm{major}{minor}"]


def measure_kernels(row: Row, device: torch.device, deadline: float) -> None:
    """Measures the kernels that `pbprobe report` uses for this device, until the deadline."""
    env = os.environ | {"CUDA_VISIBLE_DEVICES": get_uuid(device) or ""}
    for dtype, name in FIGURES.items():
        left = deadline - time.monotonic()
        if left < LEAST:
            return
        command = _command(dtype, device, left)
        try:
            done = subprocess.run(
                command, env=env, capture_output=True, encoding="utf-8", timeout=left + LEAST, check=False
            )
        except subprocess.TimeoutExpired:
            return
        found = json.loads(done.stdout) if done.stdout.startswith("{") else {"rows": [], "problems": []}
        for problem in found["problems"]:
            if WRONG in problem:
                row["wrong"].append({"what": name, "how": f"the exact result: {problem}", "count": 1})
            else:
                row["errors"].append(problem)
        for best in found["rows"]:
            if best["best"] and best["samples_us"]:
                work = 2e-6 * best["m"] * best["n"] * best["k"]  # a sample's in Tflop, by microseconds
                samples = [work / microseconds for microseconds in best["samples_us"]]
                row["figures"][name] = figure(samples, verified=True)  # no other is timed
