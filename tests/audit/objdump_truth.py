# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Compares the census with objdump and a counting awk: the counts must agree; prints the times.

objdump_truth.py PBPROBE [--runs N] FILE…     exit code 1 if a count differs, 77 if objdump is missing

With --runs both take turns N times, and the medians are printed with their ratio. The figure compares objdump
and awk, which run in parallel, with one `pbprobe audit` of the file, which also reads its other parts.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

AWK = Path(__file__).parent / "objdump_count.awk"
MACHINES = {b"\x3e\x00": ("objdump", False), b"\xb7\x00": ("aarch64-linux-gnu-objdump", True)}
VEX = ("avx", "avx2", "fma", "f16c", "bmi1", "bmi2", "fma4", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8", "amx_fp16")
SINGLE = ("fma", "f16c", "bmi1", "bmi2", "popcnt", "abm", "avx512_bf16", "avx512_fp16")
SINGLE_ARM = ("atomics", "sve", "asimddp", "i8mm", "bf16")


def count_with_objdump(tool, arm, path):
    # -z: runs of zeros too, which objdump leaves out by itself, and which are words like others
    with subprocess.Popen([tool, "-d", "-z", path], stdout=subprocess.PIPE) as objdump:
        counted = subprocess.run(
            ["awk", "-v", f"arm={int(arm)}", "-f", AWK],
            stdin=objdump.stdout,
            capture_output=True,
            text=True,
            check=True,
        )
    return {name: int(count) for name, count in (line.split() for line in counted.stdout.splitlines())}


def count_with_pbprobe(program, arm, path):
    done = subprocess.run([program, "audit", path, "--format", "json"], capture_output=True, text=True, check=False)
    document = json.loads(done.stdout)
    code = document["files"][0]["host_code"]
    features = code["features"]
    if arm:
        return {"instructions": code["instructions"], **{name: features.get(name, 0) for name in SINGLE_ARM}}
    groups = {name: features.get(name, 0) for name in SINGLE}
    groups["instructions"] = code["instructions"]
    # An EVEX or mask instruction needs one of AVX-512's parts, and some also need AVX512VL.
    groups["evex"] = sum(n for name, n in features.items() if name.startswith("avx512") and name != "avx512vl")
    groups["vex"] = sum(features.get(name, 0) for name in VEX)
    groups["vnni"] = features.get("avx512_vnni", 0) + features.get("avx_vnni", 0)
    groups["amx"] = sum(features.get(name, 0) for name in ("amx_tile", "amx_bf16", "amx_int8", "amx_fp16"))
    return groups


def timed(function, *arguments):
    start = time.monotonic()
    result = function(*arguments)
    return result, time.monotonic() - start


def compare(program, path, runs):
    tool, arm = MACHINES[head(path)]
    if shutil.which(tool) is None:
        print(f"{path.name}: no {tool} here")
        return None
    times = ([], [])
    for _ in range(max(1, runs)):
        theirs, seconds = timed(count_with_objdump, tool, arm, path)
        times[0].append(seconds)
        ours, seconds = timed(count_with_pbprobe, program, arm, path)
        times[1].append(seconds)
    equal = True
    for name in sorted(ours):
        # The two skip invalid bytes differently: 7 among the 61 million instructions of libtorch_cpu.so.
        slack = ours[name] // 1_000_000 if name == "instructions" else 0
        same = abs(ours[name] - theirs.get(name, 0)) <= slack
        equal = equal and same
        if not same or runs:
            print(
                f"{path.name} {name}: pbprobe {ours[name]}, objdump {theirs.get(name, 0)}{'' if same else '  DIFFERS'}"
            )
    if runs:
        medians = [statistics.median(values) for values in times]
        print(
            f"{path.name}: objdump | awk {medians[0]:.2f} s, pbprobe {medians[1]:.2f} s: {medians[0] / medians[1]:.0f} "
            f"times as fast (medians of {runs})"
        )
    return equal


def head(path):
    with path.open("rb") as file:
        return file.read(20)[18:20]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=0)
    options = parser.parse_args()
    results = [compare(options.program, path, options.runs) for path in options.files]
    if all(result is None for result in results):
        return 77
    print(f"{sum(result is not None for result in results)} files compared with objdump")
    return 1 if False in results else 0


if __name__ == "__main__":
    sys.exit(main())
