# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Measures pbprobe.ops beside torch or OpenBLAS on layers of real models, and prints Markdown tables.

    python -m pbprobe.speed                                     # every type; a GPU if there is one, else the CPU
    python -m pbprobe.speed --device cpu --dtype bf16 --threads 1 --threads all
    python -m pbprobe.speed --device cuda --dtype fp8-row --mode graph --count 400 --budget 300
    python -m pbprobe.speed --json speed.json                   # every shape, for docs/samples
    python -m pbprobe.speed --host                              # what a call takes of the host's time
    python -m pbprobe.speed --device cpu --peer openblas        # beside OpenBLAS instead of torch, FP32 only
    ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 python -m pbprobe.speed --device cpu

m is drawn log-uniform from 1 to --most-m; n and k are the sizes of a layer. Both sides get the same operands. Each
result is compared with FP64, calls alternate, and a time is the median. Ratio: the time of the peer divided by the
time of pbprobe; above 1 pbprobe is faster. A CPU time is the time of the call. A GPU time is the device time of a
CUDA graph ("graph") or of successive calls ("eager"). "tf32": both round FP32 operands to TF32. Shapes that other work
disturbs are measured again, and omitted if the disturbance continues.

Exit code: 0; 1 if a result of pbprobe is wrong; 2 if an option is wrong, nothing was measured or not all was written.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import functools
import json
import math
import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pbprobe import _speed_options

if __name__ == "__main__":  # --help and wrong usage do not wait for torch
    _speed_options.prepare(_speed_options.parse(__doc__))

import torch

from pbprobe import _speed_cases as cases
from pbprobe import _speed_peers as peers
from pbprobe import _speed_table as table
from pbprobe import ops

_ROUNDS = {"cpu": 7, "cuda": 9}  # the first one warms up
_SAMPLE_US = {"cpu": 5e3, "cuda": 2e3}  # what the calls of one sample take together: slices of 10 ms or less alternate
_MOST_SPREAD = 1.5  # median over least sample of either side: above it, other work disturbed the shape
_ATTEMPTS = 3
_LATE_ROUNDS = 3  # of a shape that exceeds the budget
_PROGRESS_S = 10.0  # between lines on stderr

Sample = Callable[[], float]  # microseconds of one call


def _sample_cpu(call: cases.Call, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats * 1e6


def _sample_gpu(run: Callable[[], object], repeats: int) -> float:
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / repeats


def _capture(call: cases.Call, repeats: int) -> torch.cuda.CUDAGraph:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            call()
    return graph


def make_sample(call: cases.Call, mode: str | None, repeats: int) -> Sample:
    """Returns a function that times `repeats` calls. mode: None on the CPU, else "eager" or "graph"."""
    if mode is None:
        return lambda: _sample_cpu(call, repeats)
    if mode == "graph":
        graph = _capture(call, repeats)
        return lambda: _sample_gpu(graph.replay, repeats)

    def run() -> None:
        for _ in range(repeats):
            call()

    return lambda: _sample_gpu(run, repeats)


def _repeats(call: cases.Call, mode: str | None) -> int:
    device, most = ("cpu", 50) if mode is None else ("cuda", 30)
    sample = make_sample(call, None if mode is None else "eager", 1)
    sample()
    return max(1 if mode is None else 2, min(most, int(_SAMPLE_US[device] / max(sample(), 1.0))))


def compare(
    case: cases.Case, mode: str | None, end: float = math.inf, look: Callable[[], None] = lambda: None
) -> tuple[list[float], list[float]] | None:
    """Returns microseconds of pbprobe's call and of the peer's call: interleaved samples, without the first round.

    Returns None if other work on the machine disturbed every attempt. After `end`, a time of time.monotonic(), an
    attempt has fewer rounds, and no other attempt begins. look: called before each round.
    """
    repeats = _repeats(case.ours, mode)
    samples = [make_sample(call, mode, repeats) for call in (case.ours, case.theirs)]
    for _ in range(_ATTEMPTS):
        times: tuple[list[float], list[float]] = ([], [])
        for at in range(_ROUNDS["cpu" if mode is None else "cuda"]):
            if at >= _LATE_ROUNDS and time.monotonic() > end:
                break
            look()
            for sample, of_one in zip(samples, times, strict=True):
                time.sleep(case.pause)
                of_one.append(sample())
        ours, theirs = times[0][1:], times[1][1:]
        if max(statistics.median(side) / min(side) for side in (ours, theirs)) <= _MOST_SPREAD:
            return ours, theirs
        if time.monotonic() > end:
            break
    return None


def _free_bytes(device: str) -> int:
    if device == "cuda":
        torch.cuda.empty_cache()
        free = torch.cuda.mem_get_info()[0]
        # An allocation that does not fit into unified memory hangs the machine: half of what is available is left.
        return min(free, _free_bytes("cpu") // 2) if torch.cuda.get_device_properties(0).is_integrated else free
    with contextlib.suppress(OSError):
        found = re.search(r"MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_text())
        if found:
            return int(found[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")


class Row:
    """One row of the table: a type, on a device, called in one way."""

    def __init__(
        self, device: str, dtype: str, threads: int | None, mode: str | None, seed: int, peer: peers.Peer
    ) -> None:
        self._device = device
        self._peer = peer
        self._operands = cases.Operands(device, seed)
        self._mode = mode
        self.result: dict[str, Any] = {"dtype": dtype, "threads": threads, "mode": mode, "drawn": 0, "shapes": []}
        for key in ("refused_by_peer", "refused", "wrong", "peer_wrong", "too_large", "disturbed", "not_reached"):
            self.result[key] = 0
        self.result["wrong_shapes"] = []

    def measure(self, shape: cases.Shape, end: float, look: Callable[[], None]) -> None:
        """Times one shape and adds its figures to the result, or counts why it has none. end, look: as in compare()."""
        self.result["drawn"] += 1
        try:
            why = self._measure(shape, end, look)
        except torch.OutOfMemoryError:
            why = "too_large"
        if why:
            self.result[why] += 1
        if why == "wrong":
            self.result["wrong_shapes"].append([shape.layer, shape.m, shape.n, shape.k])

    def _measure(self, shape: cases.Shape, end: float, look: Callable[[], None]) -> str | None:
        dtype = self.result["dtype"]
        if cases.needed_bytes(dtype, shape) > _free_bytes(self._device) * 0.8:
            return "too_large"
        case = self._peer.use(cases.make_case(dtype, shape, self._operands))
        first, why = _call_both(case)
        if why or first is None:
            return why
        times = compare(case, self._mode, end, look)
        if times is None:
            return "disturbed"
        ours, theirs = times
        if not torch.equal(first, case.ours()):  # the same call gives the same bits
            return "wrong"
        mine, other = statistics.median(ours), statistics.median(theirs)
        self.result["shapes"].append(
            {
                "layer": shape.layer,
                **{name: getattr(shape, name) for name in "mnk"},
                "ratio": round(other / mine, 4),
                "ours_us": round(mine, 2),
                "peer_us": round(other, 2),
                "spread": [round(min(ours) / mine, 3), round(max(ours) / mine, 3)],
                "kernel": ops.which(case.a, case.b, *case.scales),
            }
        )
        return None

    def find_fastest(self, count: int, budget: float, look: Callable[[], None]) -> None:
        """Adds the fastest kernel to each of the `count` worst shapes that begin within `budget` seconds."""
        end = time.monotonic() + budget
        for worst in sorted(self.result["shapes"], key=lambda one: one["ratio"])[:count]:
            if time.monotonic() > end:
                break
            shape = cases.Shape(worst["layer"], worst["m"], worst["n"], worst["k"])
            with contextlib.suppress(torch.OutOfMemoryError):
                case = cases.make_case(self.result["dtype"], shape, self._operands)
                name, us, complete = self._fastest(case, worst["kernel"], end, look)
                worst.update(fastest_kernel=name, fastest_us=round(us, 2), all_kernels=complete)

    def _fastest(self, case: cases.Case, chosen: str, end: float, look: Callable[[], None]) -> tuple[str, float, bool]:
        best, best_us = chosen, self._time(case.ours)
        for name in _rivals(chosen):
            look()
            if time.monotonic() > end:
                return best, best_us, False
            with contextlib.suppress(RuntimeError), ops.use(name):  # RuntimeError: it does not compute this problem
                case.ours()
                us = self._time(case.ours, best_us)
                if us < best_us:
                    best, best_us = name, us
        return best, best_us, True

    def _time(self, call: cases.Call, to_beat: float | None = None) -> float:
        once = make_sample(call, None if self._mode is None else "eager", 1)()
        if to_beat is not None and once > 10 * to_beat:
            return once
        sample = make_sample(call, self._mode, _repeats(call, self._mode))
        return statistics.median(sample() for _ in range(3))


def _rivals(chosen: str) -> list[str]:
    """Returns the names of the other kernels with the type of the kernel `chosen`; on a GPU, only of its target."""
    dtype, target = chosen.split("_")[1], chosen.rsplit("_", 1)[1]
    gpu = re.fullmatch(r"sm\d+", target)
    names = [name for name in ops.kernels() if name != chosen and name.split("_")[1] == dtype]
    if gpu:
        return [name for name in names if name.endswith(f"_{target}")]
    return [name for name in names if not re.search(r"_sm\d+$", name)]


def _call_both(case: cases.Case) -> tuple[torch.Tensor | None, str | None]:
    """Returns our result and None, or why the shape is not timed."""
    try:
        ours = case.ours()
    except torch.OutOfMemoryError:
        raise
    except RuntimeError:
        return None, "refused"
    if not case.check(ours):
        return None, "wrong"
    try:
        theirs = case.theirs()
    except torch.OutOfMemoryError:
        raise
    except RuntimeError:
        return None, "refused_by_peer"
    return (ours, None) if case.check(theirs) else (None, "peer_wrong")


class Progress:
    """Prints a line on stderr about every 10 s: other texts are dropped."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, text: str) -> None:
        """Prints the text if the last one is old enough."""
        if time.monotonic() - self._last >= _PROGRESS_S:
            self._last = time.monotonic()
            print(f"pbprobe.speed: {text}", file=sys.stderr, flush=True)


def measure_row(
    row: Row, shapes: Sequence[cases.Shape], budget: float, worst: int, show: Callable[[str], None]
) -> dict[str, Any]:
    """Measures the shapes that begin within `budget` seconds, then the fastest kernels of the worst within a quarter.

    show: called often, with a line about the progress.
    """
    start = time.monotonic()
    name = f"{row.result['dtype']}, {table.describe_call(row.result)}"
    at = 0

    def look() -> None:
        show(f"{name}: {at} of {len(shapes)} shapes, {time.monotonic() - start:.0f} s of {budget:.0f} s")

    with torch.no_grad(), cases.torch_settings(row.result["dtype"]):
        for at, shape in enumerate(shapes):
            if time.monotonic() - start > budget:
                row.result["not_reached"] = len(shapes) - at
                row.result["drawn"] = len(shapes)
                break
            look()
            row.measure(shape, start + budget, look)
        row.find_fastest(worst, budget / 4, lambda: show(f"{name}: the fastest kernels of the worst shapes"))
    return row.result


def describe_device(device: str) -> dict[str, Any]:
    """Returns the name, the CPUs that this process may use, the load and the GPU's driver."""
    found = None
    with contextlib.suppress(OSError):
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    described: dict[str, Any] = {
        "name": found[1] if found else os.uname().machine,
        "cpus": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "driver": None,
    }
    if device == "cuda":
        described["name"] = torch.cuda.get_device_name()
        with contextlib.suppress(OSError):
            version = re.search(r"Kernel Module\D* ([\d.]+)", Path("/proc/driver/nvidia/version").read_text())
            described["driver"] = version[1] if version else None
    return described


def host_rows(devices: list[str], calls: int = 5000, modes: tuple[str, ...] = ("eager", "compiled")) -> Iterator[str]:
    """Yields a table of the host's time of a call, with operands of 16 x 16."""
    yield "| device | operator | type | mode | ours p50, µs | p99 | torch p50, µs | p99 |"
    yield "|---|---|---|---|---|---|---|---|"
    torch.manual_seed(1)
    for device in devices:
        for operator, dtype in (("mm", "float32"), ("mm", "bfloat16"), ("linear", "bfloat16")):
            a, b = (torch.randn(16, 16, device=device).to(getattr(torch, dtype)) for _ in range(2))
            sides = (ops.mm, torch.mm) if operator == "mm" else (ops.linear, torch.nn.functional.linear)
            for mode in modes:
                both = [torch.compile(side) if mode == "compiled" else side for side in sides]
                with torch.no_grad():
                    times = _host_times([functools.partial(side, a, b) for side in both], device, calls)
                cells = [statistics.quantiles(samples, n=100)[at] for samples in times for at in (49, 98)]
                yield f"| {device} | {operator} | {dtype} | {mode} | {' | '.join(f'{cell:.1f}' for cell in cells)} |"


def _host_times(both: Sequence[cases.Call], device: str, calls: int) -> list[list[float]]:
    """Returns microseconds of each call, interleaved; a GPU's queue is emptied before it is full."""
    times: list[list[float]] = [[] for _ in both]
    for _ in range(50):
        for call in both:
            call()
    for i in range(calls):
        if device == "cuda" and i % 32 == 0:
            torch.cuda.synchronize()
        for samples, call in zip(times, both, strict=True):
            start = time.perf_counter_ns()
            call()
            samples.append((time.perf_counter_ns() - start) / 1e3)
    return times


def _ways(options: argparse.Namespace) -> list[tuple[int | None, str | None]]:
    """Returns how to call: the threads on a CPU, the mode on a GPU."""
    if options.device == "cuda":
        return [(None, mode) for mode in options.mode or ("eager", "graph")]
    every = torch.get_num_threads()
    return list(
        dict.fromkeys((every if each == "all" else int(each), None) for each in options.threads or ("1", "all"))
    )


def _format(document: dict[str, Any]) -> str:
    """Returns JSON with a line for each shape."""
    return json.dumps(document).replace('{"layer"', '\n{"layer"') + "\n"


def _measure_all(options: argparse.Namespace, peer: peers.Peer, document: dict[str, Any]) -> None:
    drawn = cases.draw_shapes(options.layers, options.count, options.seed, options.most_m, options.most_flop)
    shapes = list(drawn)
    every = torch.get_num_threads()
    show = Progress()
    try:
        for dtype in options.dtype:
            for threads, mode in _ways(options):
                if threads:
                    torch.set_num_threads(threads)
                row = Row(options.device, dtype, threads, mode, options.seed, peer)
                document["rows"].append(row.result)
                with peer.limit(threads or every):
                    measure_row(row, shapes, options.budget, options.worst, show)
                torch.set_num_threads(every)
                if options.json:
                    options.json.write_text(_format(document))
    finally:
        torch.set_num_threads(every)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parses the command line, measures and prints. Returns the exit code."""
    options = _speed_options.parse(__doc__, arguments, torch.cuda.is_available())
    if options.host:
        for line in host_rows([options.device]):
            print(line, flush=True)
        return 0
    try:
        peer = peers.PEERS[options.peer]()
    except RuntimeError as error:
        print(f"pbprobe.speed: --peer {options.peer}: {error}", file=sys.stderr)
        return 2
    document: dict[str, Any] = {
        "schema": table.SCHEMA,
        "device": describe_device(options.device),
        "torch": torch.__version__,
        "peer": peer.name,
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "command": " ".join(["python -m pbprobe.speed", *(sys.argv[1:] if arguments is None else arguments)]),
        "seed": options.seed,
        "most_m": options.most_m,
        "most_flop": options.most_flop,
        "rows": [],
    }
    written = True
    try:
        _measure_all(options, peer, document)
    except KeyboardInterrupt:  # what was measured is printed
        pass
    except OSError as error:
        written = False
        print(f"pbprobe.speed: --json {options.json}: not written: {error.strerror}", file=sys.stderr)
    print(table.describe_conditions(document), end="\n\n")
    print("\n".join(table.summary_lines([document])), end="\n\n")
    print("\n".join(table.worst_lines([document], options.worst)))
    for row in document["rows"]:
        for layer, m, n, k in row["wrong_shapes"]:
            print(f"WRONG: pbprobe, {row['dtype']}, {table.describe_call(row)}: {layer}, m {m}, n {n}, k {k}")
    if any(row["wrong"] for row in document["rows"]):
        return 1
    return 0 if written and any(row["shapes"] for row in document["rows"]) else 2


if __name__ == "__main__":
    sys.exit(main())
