#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Compares the operators of this interpreter's torch on a GPU, and prints the figures of docs/right-operators.md.

    python3 tools/operators_gpu.py [DEVICE]     DEVICE is cuda (default) or cpu; 140 s at most

Runs probes/operators/worker.py in parallel processes, so that a complete run takes one or two minutes; with planted
faults too, and for compiled scaled products. Writes a module expecttest if it is missing: the database only derives a
class from it.
"""

import collections
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

WORKER = Path(__file__).resolve().parent.parent / "probes/operators/worker.py"
SECONDS = 130  # of everything
PROCESSES = 8
FAULTS = """
library = torch.library.Library("aten", "IMPL")
key = request.device.upper()

def plant(name, is_asked, change):
    kernel = torch.library.get_kernel("aten::" + name, key)

    def function(keys, x):
        right = kernel.call_boxed(keys, x)
        return change(right) if is_asked(x) else right

    library.impl(name, function, key, with_keyset=True)

def lose(right):  # an assertion of a kernel: the context is lost
    torch.zeros(1, device=right.device)[torch.tensor([5], device=right.device)].sum().item()
    return right

plant("sigmoid", lambda x: x.dtype == torch.bfloat16, lambda right: right + 0.25)
plant("erf", lambda x: x.dtype == torch.float32 and not x.is_contiguous() and x.numel() > 1, lambda right: right * 1.01)
plant("atan", lambda x: x.dtype == torch.float16, lose)
"""
PLANTED = ["sigmoid", "erf", "atan", "cos", "tanh"]
NAMES = (
    "from torch.testing._internal.common_methods_invocations import op_db; print(*sorted({one.name for one in op_db}))"
)


def run_worker(environment: dict, request: dict, end: float) -> tuple[str, str]:
    """Returns the output, and why the process ended."""
    command = [sys.executable, WORKER, json.dumps({**request, "seconds": end - time.monotonic()})]
    try:
        limit = end - time.monotonic() + 10
        ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=limit)
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(), "no time"
    if "Timeout (" in ran.stderr:
        return ran.stdout, "exceeded its time limit"
    return ran.stdout, f"the process ended with {ran.returncode}: {ran.stderr.strip().splitlines()[-1:]}"


def compare(environment: dict, end: float, **request: object) -> list[dict]:
    """Returns the results of a worker, which is started again after an operator that ended it, until the time
    `end` of time.monotonic().
    """
    results, skip, done = [], 0, False
    while time.monotonic() < end and not done:
        out, why = run_worker(environment, {**request, "skip": skip}, end)
        last, done = None, why == "no time" or not out
        for line in filter(lambda text: text.endswith("}"), out.splitlines()):
            line = json.loads(line)
            if "start" in line:
                last, skip = line["start"], line["number"] + 1
            elif "result" in line:
                results.append(line["result"])
                last = None
            elif "lost" in line:
                results.append({"name": last[0], "type": last[1], "state": "crashed", "reason": line["lost"]})
                last = None
            elif "problem" in line:
                results.append({"name": "run", "type": "-", "state": "crashed", "reason": line["problem"]})
            done = done or "end" in line or "problem" in line
            for name in line.get("omitted", []):
                results.append({"name": name, "type": "-", "state": "not_run", "reason": "omitted"})
        if last:
            state = "not_run" if why in ("no time", "exceeded its time limit") else "crashed"
            results.append({"name": last[0], "type": last[1], "state": state, "reason": why})
    return results


def describe(result: dict) -> str:
    words = [
        result[key]
        for key in (
            "name",
            "type",
            "state",
            "way",
            "reason",
            "index",
            "expected",
            "actual",
            "tolerances",
            "input",
            "kernels",
        )
        if result.get(key) is not None
    ]
    return "; ".join(map(str, words))[:400]


def summarize(results: list) -> str:
    order = ["not_run", "random", "right", "wrong", "crashed"]
    states = collections.defaultdict(lambda: "not_run")
    for one in results:
        states[one["name"]] = max(states[one["name"]], one["state"], key=order.index)
    counts = collections.Counter(states.values())
    right = counts["right"] + counts["random"]
    calls = sum(one.get("calls", 0) for one in results)
    return (
        f"{right} of {len(states)} right ({counts['random']} by shape only), {counts['wrong']} wrong, "
        f"{counts['crashed']} crashed, {counts['not_run']} not run; {calls} calls"
    )


def main() -> None:
    device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": folder, "TRITON_CACHE_DIR": folder}
        if not importlib.util.find_spec("expecttest"):
            (Path(folder) / "expecttest.py").write_text("from unittest import TestCase\n")
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
        plant = Path(folder) / "plant.py"
        plant.write_text(FAULTS.replace("request.device", repr(device)))
        began = time.monotonic()
        listed = subprocess.run(
            [sys.executable, "-c", NAMES], capture_output=True, text=True, env=environment, check=True
        )
        names = listed.stdout.split()
        common = {"device": device, "operator_seconds": 60}
        jobs = {f"part {i}": {**common, "only": names[i::PROCESSES]} for i in range(PROCESSES)}
        jobs["planted"] = {**common, "only": PLANTED, "plant": str(plant)}
        jobs["compiled"] = {**common, "only": ["torch._scaled_mm", "cos"], "compile": True, "operator_seconds": 110}
        results, end = {}, began + SECONDS
        threads = [
            threading.Thread(target=lambda name=name, job=job: results.update({name: compare(environment, end, **job)}))
            for name, job in jobs.items()
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    every = [one for name, found in results.items() if name.startswith("part") for one in found]
    print(f"{device}: {summarize(every)}, {time.monotonic() - began:.0f} s with {PROCESSES} processes")
    expected = (
        "omitted",
        "no reference",
        "no type",
        "exempted",
        "torch's database of operators has no sample",
        "no sample",
    )
    for one in every:
        if one["state"] in ("wrong", "crashed") or not one.get("reason", "no type").startswith(expected):
            print("  " + describe(one))
        for way, why in one.get("refused", {}).items():
            print(f"  raises: {one['name']} {one['type']}, {way}: {why}")
    omitted = sum(one.get("reason") == "omitted" for one in every)
    print(f"  {len(names)} names in the database, some with variants; {omitted} omitted")
    print("  not repeatable: " + ", ".join(sorted({one["name"] for one in every if one.get("deterministic") is False})))
    slow = sorted(every, key=lambda one: -one.get("seconds", 0))[:5]
    print(
        "  slowest: "
        + ", ".join(f"{one['name']} {one['type']} {one['seconds']:.0f} s" for one in slow if "seconds" in one)
    )
    for name in ("planted", "compiled"):
        print(f"{name}: {summarize(results[name])}")
        for one in results[name]:
            print("  " + describe(one))


if __name__ == "__main__":
    main()
