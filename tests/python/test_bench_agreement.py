# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""`pbprobe bench` and the operators take the same time: same kernel, shape and number of threads."""

import itertools
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="operators need a torch: `make test` installs one")
pytest.importorskip("pbprobe.ops", reason="built without a torch", exc_type=ImportError)

import torch

import pbprobe
from pbprobe import ops, speed

pytestmark = [pytest.mark.idle, pytest.mark.filterwarnings("ignore:Failed to initialize NumPy")]

TOLERANCE = 0.10
# Time of reading memory depends on which pages an allocation gets: up to 28 % on a virtual machine.
TOLERANCE_OF_READING = 0.40
ATTEMPTS = 5
LEAST_US = 50  # shorter calls are mostly the operator's dispatch
OPERATOR_SECONDS = 2  # about as long as bench samples: the least of a longer time is lower
GPU_COPIES_BYTES = 128 << 20


def make_copies(dtype, m, n, k, device):
    """Returns as many operands as bench rotates over: twice the last-level cache."""
    cache = GPU_COPIES_BYTES // 2 if device == "cuda" else pbprobe.host()["cpu"]["last_level_cache_bytes"] or 32 << 20
    count = 2 * cache // ((m * k + n * k + m * n) * dtype.itemsize) + 1
    a, w = torch.randn(m, k, device=device).to(dtype), torch.randn(n, k, device=device).to(dtype)
    return [(a.clone(), w.clone().t()) for _ in range(count)]


def time_operator(kernel, copies, mode):
    """Returns the least microseconds of a call."""
    turn = itertools.cycle(copies)

    def call():
        return torch.ops.pbprobe.mm(*next(turn))

    with ops.use(kernel), torch.no_grad():
        sample = speed.make_sample(call, mode, len(copies) if mode else 4)
        least, end = sample(), time.monotonic() + OPERATOR_SECONDS
        while time.monotonic() < end:
            least = min(least, sample())
        return least


def time_bench(kernel, dtype, m, n, k, threads):
    program = Path(ops.__file__).parent / "bin/pbprobe"
    kernels = ("--target", kernel.rsplit("_", 1)[1], "--dtype", dtype, "--out", dtype, "--layout", "nt", "--chosen")
    problem = ("--shape", f"{m}x{n}x{k}", "--threads", str(threads))
    command = [program, "bench", *kernels, *problem, "--budget", "6", "--format", "json"]
    measured = subprocess.run(command, capture_output=True, text=True, check=False)
    result = json.loads(measured.stdout)
    rows = [row for row in result["rows"] if row["kernel"] == kernel]
    if not rows and (
        "time_limit" in [one["why"] for one in result["not_run"] or []] or "budget" in str(result["notes"])
    ):
        pytest.skip(f"this machine is busy: bench ended before its first row: {result['not_run']}{result['notes']}")
    assert rows, measured.stdout + measured.stderr
    return min(rows[0]["samples_us"])


def expect_agreement(dtype, m, n, k, threads, mode, tolerance=TOLERANCE):
    """Compares the least times of each attempt and of all: noise raises some of them, a wrong bench differs always."""
    device = "cuda" if mode else "cpu"
    name = {torch.float32: "fp32", torch.bfloat16: "bf16"}[dtype]
    kernel = ops.which(*make_copies(dtype, m, n, k, device)[0])
    operator, bench = [], []
    for _ in range(ATTEMPTS):
        operator.append(time_operator(kernel, make_copies(dtype, m, n, k, device), mode))
        time.sleep(0.1)  # OpenMP's threads stop watching for work
        bench.append(time_bench(kernel, name, m, n, k, threads))
        ratios = bench[-1] / operator[-1], min(bench) / min(operator)
        if any(abs(ratio - 1) <= tolerance for ratio in ratios):
            assert min(operator) > LEAST_US
            return
    for name, least in ("operator", operator), ("bench", bench):
        spread = sorted(least)[len(least) // 2] / min(least) - 1
        if spread > abs(min(bench) / min(operator) - 1):
            pytest.skip(f"this machine is busy: {name}'s own times differ by {100 * spread:.0f} %")
    pytest.fail(f"{kernel}, {m}x{n}x{k}: bench {min(bench):.0f} us, operator {min(operator):.0f} us")


@pytest.mark.parametrize("every", [False, True], ids=["one thread", "all threads"])
@pytest.mark.parametrize(
    ("shape", "tolerance"), [((512, 768, 512), TOLERANCE), ((8, 2048, 2048), TOLERANCE_OF_READING)], ids=str
)
def test_bench_agrees_with_operator_on_cpu(shape, tolerance, every):
    threads = min(torch.get_num_threads(), len(os.sched_getaffinity(0))) if every else 1
    if every and threads == 1:
        pytest.skip("this process may use one CPU")
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        expect_agreement(torch.float32, *shape, threads, None, tolerance)
    finally:
        torch.set_num_threads(before)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU")
@pytest.mark.parametrize("shape", [(4096, 4096, 4096), (250, 8192, 3584)], ids=str)
def test_bench_agrees_with_operator_on_gpu(shape):
    expect_agreement(torch.bfloat16, *shape, 0, "graph")
