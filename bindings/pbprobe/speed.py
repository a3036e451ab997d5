# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Prints our operators beside torch's own on this machine, as a Markdown table.

    python -m pbprobe.speed                     # CPU, and the GPU where there is one
    python -m pbprobe.speed --device cuda --seconds 0.5
    python -m pbprobe.speed --host              # what a call costs the host, in eager mode and under torch.compile
    ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 python -m pbprobe.speed --device cpu

Both compute the same random operands, are compared first, and take turns; the time is the median, and above 1 ours is
faster.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import time
from collections.abc import Callable, Iterator

import torch

from pbprobe import ops

Call = Callable[[], torch.Tensor]

# (operator, type, m, n, k): layers of a transformer with 1, 8, 128 and 512 tokens, a square, an odd k
SHAPES = [
    *(("linear", dtype, m, 4096, 4096) for dtype in ("bfloat16", "float32", "int8") for m in (1, 8, 128, 512)),
    *(("mm", dtype, 1024, 1024, 1024) for dtype in ("bfloat16", "float32", "int8")),
    *(("mm", dtype, 2048, 2048, 777) for dtype in ("bfloat16", "float32", "int8")),
]


def _operands(operator: str, dtype: str, m: int, n: int, k: int, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    def matrix(rows: int, columns: int) -> torch.Tensor:
        if dtype == "int8":
            return torch.randint(-128, 128, (rows, columns), device=device).to(torch.int8)
        return torch.randn(rows, columns, device=device).to(getattr(torch, dtype))

    return matrix(m, k), matrix(n, k).t() if operator == "linear" else matrix(k, n)


def _calls(operator: str, a: torch.Tensor, b: torch.Tensor) -> tuple[Call, Call]:
    """Ours and torch's."""
    if a.dtype == torch.int8:
        return lambda: ops.int_mm(a, b), lambda: torch._int_mm(a, b)
    if operator == "linear":
        weight = b.t()
        return lambda: ops.linear(a, weight), lambda: torch.nn.functional.linear(a, weight)
    return lambda: ops.mm(a, b), lambda: a @ b


def _seconds(call: Call, device: str) -> float:
    if device == "cpu":
        start = time.perf_counter()
        call()
        return time.perf_counter() - start
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(1_000_000)  # the time between the events is then the device's, not the host's
    begin.record()
    for _ in range(10):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e4


def _row(operator: str, dtype: str, m: int, n: int, k: int, device: str, budget: float) -> str:
    a, b = _operands(operator, dtype, m, n, k, device)
    ours, theirs = _calls(operator, a, b)
    head = f"| {device} | {operator} | {dtype} | {m}x{n}x{k} | {ops.which(a, b)} |"
    result = ours()
    try:
        reference = theirs()
    except RuntimeError as error:
        return f"{head} | | {str(error).splitlines()[0][:60]} | |"
    bound = 0 if dtype == "int8" else (a.float().abs() @ b.float().abs()).double() * (k * 2.0**-24)
    rounding = 0 if dtype == "int8" else 2 * torch.finfo(a.dtype).eps * reference.double().abs()
    if not ((result.double() - reference.double()).abs() <= bound + rounding).all():
        return f"{head} | | the two differ | |"
    times: tuple[list[float], list[float]] = ([], [])
    end = time.monotonic() + budget
    while len(times[0]) < 5 or time.monotonic() < end:
        for samples, call in zip(times, (ours, theirs), strict=True):
            samples.append(_seconds(call, device))
    mine, other = (statistics.median(samples) for samples in times)
    return f"{head} {mine * 1e6:.0f} | {other * 1e6:.0f} | {other / mine:.3g} |"


def rows(devices: list[str], budget: float) -> Iterator[str]:
    """The table's lines; a product that a device has no kernel for is left out."""
    yield "| device | operator | type | mxnxk | kernel | ours, µs | torch, µs | torch / ours |"
    yield "|---|---|---|---|---|---|---|---|"
    torch.manual_seed(1)
    for device in devices:
        for shape in SHAPES:
            with contextlib.suppress(torch.cuda.OutOfMemoryError):
                yield _row(*shape, device, budget)


def _host_times(ours: Call, theirs: Call, device: str, calls: int) -> tuple[list[float], list[float]]:
    """Microseconds of each call, interleaved; a GPU's queue is emptied before it is full."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(50):
        ours()
        theirs()
    for i in range(calls):
        if device == "cuda" and i % 32 == 0:
            torch.cuda.synchronize()
        for samples, call in zip(times, (ours, theirs), strict=True):
            start = time.perf_counter_ns()
            call()
            samples.append((time.perf_counter_ns() - start) / 1e3)
    return times


def host_rows(devices: list[str], calls: int = 5000, modes: tuple[str, ...] = ("eager", "compiled")) -> Iterator[str]:
    """Lines of a table of what a call takes of the host's time: operands so small that the GEMM takes almost none."""
    yield "| device | operator | type | mode | ours p50, µs | p99 | torch p50, µs | p99 |"
    yield "|---|---|---|---|---|---|---|---|"
    torch.manual_seed(1)
    for device in devices:
        for operator, dtype in (("mm", "float32"), ("mm", "bfloat16"), ("linear", "bfloat16")):
            a, b = _operands(operator, dtype, 16, 16, 16, device)
            for mode in modes:
                calls_of = _calls(operator, a, b)
                if mode == "compiled":
                    calls_of = tuple(torch.compile(call) for call in calls_of)
                with torch.no_grad():
                    times = _host_times(*calls_of, device, calls)
                cells = [statistics.quantiles(samples, n=100)[at] for samples in times for at in (49, 98)]
                yield f"| {device} | {operator} | {dtype} | {mode} | {' | '.join(f'{cell:.1f}' for cell in cells)} |"


def main() -> None:
    """Parses the command line and prints the table."""
    parser = argparse.ArgumentParser(
        prog="python -m pbprobe.speed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    available = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    parser.add_argument("--device", choices=available, action="append", help="all there are, by default")
    parser.add_argument("--seconds", type=float, default=0.3, help="of each row; 0.3 by default")
    parser.add_argument("--host", action="store_true", help="the host's time of a call, instead of the device's")
    arguments = parser.parse_args()
    devices = arguments.device or available
    for row in host_rows(devices) if arguments.host else rows(devices, arguments.seconds):
        print(row, flush=True)


if __name__ == "__main__":
    main()
