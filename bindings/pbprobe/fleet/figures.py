# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Measurements of a single rank: copies, and GEMMs whose bits must not change."""

import ctypes
import hashlib
import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from pbprobe.fleet.identity import get_uuid
from pbprobe.fleet.processors import Processors
from pbprobe.fleet.sampling import Sampler, make_reader, make_reasons_reader

SEED = 717171
MOST_WRONG = 3  # results that are written down
MOST_EXACT = 2**24  # every partial sum below it is exact in FP32, in any order
COPYING = 1.0  # seconds a kind of copy: a median of many outlasts what else runs here
WINDOW = 0.25  # seconds of work in a sample: a quota or a throttle stops some calls, and leaves the others as they are
ROWS = 64  # of a large result, as many are computed again by the host
IN_A_ROW = 16  # calls of a GPU in a sample: one by one, the host's time would be in each, and the GPU would rest

Row = dict[str, Any]
Matrices = tuple[torch.Tensor, torch.Tensor]


def figure(samples: list[float], *, verified: bool | None, lower_is_better: bool = False) -> Row:
    """Returns a RankFigure of docs/node.schema.json: the median of the samples, with its relative standard error."""
    value = statistics.median(samples)
    mad = statistics.median(abs(sample - value) for sample in samples)
    spread = mad / abs(value) / math.sqrt(len(samples)) if value else None
    return {"value": value, "lower_is_better": lower_is_better, "verified": verified, "spread": spread}


def time_call(call: Callable[[], object], device: torch.device) -> float:
    """Times a call by device events on a GPU, by the clock on a CPU."""
    if device.type != "cuda":
        begin = time.perf_counter()
        call()
        return time.perf_counter() - begin
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


class Rate:
    """Work by time, a sample a window."""

    def __init__(self) -> None:
        self.samples: list[float] = []
        self._work = self._seconds = 0.0

    def add(self, work: float, seconds: float) -> None:
        """Adds the work and time of one call."""
        self._work += work
        self._seconds += seconds
        if self._seconds >= WINDOW:
            self.samples.append(self._work / self._seconds)
            self._work = self._seconds = 0.0

    def figure(self, *, verified: bool) -> Row:
        """Returns the figure of all complete windows; without one, of the incomplete window."""
        return figure(self.samples or [self._work / max(self._seconds, 1e-9)], verified=verified)


def measure_copies(row: Row, device: torch.device, deadline: float, quick: bool = False) -> None:
    """Times copies within device memory, and on a GPU also to and from the host. Compares each copy with its source."""
    size = 1 << (24 if device.type != "cuda" else 26 if quick else 28)
    here = torch.randint(0, 256, (size,), dtype=torch.uint8, device=device)
    source = here.cpu().pin_memory() if device.type == "cuda" else None
    there = torch.empty_like(here)
    copies = {("hbm_copy" if source is not None else "memory_copy"): (there, here, 2)}
    if source is not None:
        copies["host_to_device"] = (there, source, 1)
        copies["device_to_host"] = (torch.empty_like(source).pin_memory(), here, 1)
    for name, (target, origin, times) in copies.items():
        target.zero_()
        target.copy_(origin)
        same = bool(torch.equal(target.to(device), here))
        rate = Rate()
        stop = min(deadline, time.monotonic() + COPYING)
        while True:
            rate.add(times * size / 1e9, time_call(lambda t=target, o=origin: t.copy_(o), device))
            if time.monotonic() >= stop:
                break
        row["figures"][f"{name}_gb_per_s"] = rate.figure(verified=same)
        if not same:
            row["wrong"].append({"what": f"{name}_gb_per_s", "how": "its source", "count": 1})


def _matrices(dtype: torch.dtype, size: int, *, exact: bool) -> Matrices:
    """Returns equal matrices on every rank. Exact: integers whose partial sums fit into FP32, large enough to reveal an
    accumulator with fewer bits.
    """
    generator = torch.Generator().manual_seed(SEED)
    if dtype == torch.int8:
        a, b = (torch.randint(-128, 128, (size, size), generator=generator) for _ in range(2))
    elif exact:
        most = min(math.isqrt(MOST_EXACT // size), 255)
        a, b = (torch.randint(0, most + 1, (size, size), generator=generator) for _ in range(2))
    else:
        a, b = (torch.randn(size, size, generator=generator) for _ in range(2))
    return a.to(dtype), b.to(dtype)


def _first_difference(got: torch.Tensor, expected: torch.Tensor, what: str, how: str) -> Row | None:
    """Returns None if all bits are equal."""
    different = (got != expected) | (got.isnan() if got.is_floating_point() else False)
    count = int(different.sum())
    if count == 0:
        return None
    i, j = different.nonzero()[0].tolist()
    return {
        "what": what,
        "how": how,
        "row": i,
        "column": j,
        "expected": float(expected[i, j]),
        "got": float(got[i, j]),
        "seed": SEED,
        "count": count,
    }


class Gemm:
    """One precision of the soak: exact first, then the same random operands again and again."""

    def __init__(
        self, dtype: torch.dtype, device: torch.device, multiply: Callable[..., torch.Tensor], quick: bool
    ) -> None:
        self.name = "gemm_int8_tops" if dtype == torch.int8 else "gemm_bf16_tflops"
        # The host generates the operands and the expected result, which takes 2 s for the largest size.
        self.size = 256 if device.type != "cuda" else 2048 if quick else 4096
        self.calls = IN_A_ROW if device.type == "cuda" else 1
        self.device, self.dtype, self.multiply = device, dtype, multiply
        a, b = _matrices(dtype, self.size, exact=False)
        # B is contiguous along k, as weights are: for other layouts of INT8, cuBLASLt uses slow kernels.
        self.a, self.b = a.to(device), b.t().contiguous().to(device).t()
        self.first = self._run()
        self.rate = Rate()
        self.wrong: list[Row] = []

    def _run(self) -> torch.Tensor:
        return self.multiply(self.a, self.b)

    def verify(self) -> None:
        """Compares with the exact result, which the host computes; for a large matrix, compares some rows."""
        a, b = _matrices(self.dtype, self.size, exact=True)
        got = self.multiply(a.to(self.device), b.t().contiguous().to(self.device).t()).cpu()
        rows = torch.arange(0, self.size, max(self.size // ROWS, 1)) if self.size > 512 else torch.arange(self.size)
        wide = torch.float64 if self.dtype == torch.int8 else torch.float32
        expected = (a[rows].to(wide) @ b.to(wide)).to(got.dtype)
        wrong = _first_difference(got[rows], expected, self.name, "the exact result")
        if wrong is not None:
            wrong["row"] = int(rows[wrong["row"]])
            self.wrong.append(wrong)

    def step(self) -> None:
        """Times calls, and compares each result with the first one, bit for bit: every one, since a fault is rare."""
        results: list[torch.Tensor] = []

        def call() -> None:
            results.extend(self._run() for _ in range(self.calls))

        seconds = time_call(call, self.device)
        self.rate.add(2 * self.calls * self.size**3 / 1e12, seconds)
        same = torch.stack([(result == self.first).all() for result in results])  # one answer of the GPU for all
        for i in (~same).nonzero().flatten().tolist():
            wrong = _first_difference(results[i].cpu(), self.first.cpu(), self.name, "the first round")
            if wrong is not None and len(self.wrong) < MOST_WRONG:
                self.wrong.append(wrong)

    def write(self, row: Row) -> None:
        """Returns the figure, the digest of the first result, and wrong results."""
        row["figures"][self.name] = self.rate.figure(verified=not self.wrong)
        data = self.first.cpu().contiguous()
        row["digests"][self.name] = hashlib.sha256(ctypes.string_at(data.data_ptr(), data.nbytes)).hexdigest()
        row["wrong"] += [wrong for wrong in self.wrong if wrong not in row["wrong"]]


def soak(row: Row, device: torch.device, deadline: float, pulse: Callable[[], None], quick: bool = False) -> None:
    """Runs GEMMs in BF16 and INT8 alternately until the deadline, and on a GPU the test of each SM. Samples clock,
    power and temperature of the device meanwhile.
    """
    # Parts of a sum rounded to BF16 are allowed by default, and would differ from the exact result.
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    multiply = {torch.bfloat16: torch.mm, torch.int8: torch._int_mm}
    gemms = [Gemm(dtype, device, call, quick) for dtype, call in multiply.items()]
    for gemm in gemms:
        gemm.verify()
    processors = Processors(device) if device.type == "cuda" else None

    def write() -> None:
        for gemm in gemms:
            gemm.write(row)
        row["trace"] = sampler.points()
        if processors is None:
            return
        processors.write(row)
        clock, throttled = sampler.median_clock(), sampler.throttled()
        if clock is not None:
            row["figures"]["soak_clock_mhz"] = figure([clock], verified=None)
        if throttled is not None:
            row["facts"]["throttled_in_soak"] = throttled

    gpu = get_uuid(device)
    with Sampler(make_reader(gpu), make_reasons_reader(gpu)) as sampler:
        last = time.monotonic()
        while True:
            for gemm in gemms:
                gemm.step()
            if processors is not None:
                processors.step()
            now = time.monotonic()
            if now > deadline:
                break
            if now - last > 5:
                last = now
                write()
                pulse()
        write()
