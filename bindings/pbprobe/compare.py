# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Prints our operators beside torch's own on this machine, as a Markdown table.

    python -m pbprobe.compare                     # CPU, and the GPU where there is one
    python -m pbprobe.compare --device cuda --seconds 0.5
    ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 python -m pbprobe.compare --device cpu

Both compute the same random operands, are compared first, and take turns; the time is the median, and above 1 ours is
faster.
"""

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


def main() -> None:
    """Parses the command line and prints the table."""
    parser = argparse.ArgumentParser(
        prog="python -m pbprobe.compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    available = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    parser.add_argument("--device", choices=available, action="append", help="all there are, by default")
    parser.add_argument("--seconds", type=float, default=0.3, help="of each row; 0.3 by default")
    arguments = parser.parse_args()
    for row in rows(arguments.device or available, arguments.seconds):
        print(row, flush=True)


if __name__ == "__main__":
    main()
