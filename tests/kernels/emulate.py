# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Runs the kernels of a CPU target on a CPU that QEMU makes up.

    emulate.py run ARCHITECTURE CPU PROGRAM ID        the tests of the target's rows; the long ones too with
                                                      PBPROBE_EVIDENCE_DIR
    emulate.py refused ARCHITECTURE CPU PROGRAM ID    a CPU that lacks the ISA: forced kernels are refused, not crashed
    emulate.py dies ARCHITECTURE CPU COMPILER FOLDER ROOT TABLE ID PLANT
                                                      a planted instruction kills the program, its sound twin ends well

PBPROBE_EVIDENCE_DIR=folder keeps the evidence records of `run`. Exit code 77, with a sentence: something is missing.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
ROOT = Path(__file__).resolve().parents[2]


def skip(sentence):
    print(f"skipped: {sentence}")
    sys.exit(SKIPPED)


def emulator(architecture, cpu):
    """QEMU's command, and its name for evidence."""
    for name in (f"qemu-{architecture}-static", f"qemu-{architecture}"):
        if program := shutil.which(name):
            break
    else:
        skip(f"no qemu-{architecture}: install Debian's qemu-user-static")
    command = [program, "-cpu", cpu]
    libraries = Path(f"/usr/{architecture}-linux-gnu")
    if os.uname().machine != architecture and libraries.is_dir():
        command += ["-L", str(libraries)]
    reported = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"version (\S+)", reported)[1]
    return command, f"qemu-{architecture} {version}, -cpu {cpu}"


def require_program(program):
    """The test program of a cross build may be absent, or older than the sources that it would speak for."""
    if not program.exists():
        skip(f"{program} was not built" + (": run `make cross`" if "aarch64" in program.parts else ""))
    newest = max(path.stat().st_mtime for path in (ROOT / "kernels").rglob("*.?pp"))
    if program.stat().st_mtime < newest:
        skip(f"{program} is older than the sources of the kernels: build it again")


def run_tests(command, program, pattern, extra):
    done = subprocess.run(
        [*command, str(program), f"--gtest_filter={pattern}"],
        env={**os.environ, **extra},
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stdout.write(done.stdout[-8000:])
    sys.stderr.write(done.stderr[-2000:])
    passed = re.search(r"\[  PASSED  \] (\d+) test", done.stdout)
    if done.returncode != 0 or not passed or int(passed[1]) == 0 or "[  SKIPPED ]" in done.stdout:
        sys.exit(f"{' '.join(command)}: ended with {done.returncode}, {passed[1] if passed else 0} tests passed")


def run_to_end(command, program):
    """Runs the program. Returns 0, or the signal that ended it."""
    code = subprocess.run([*command, str(program)], capture_output=True, check=False).returncode
    return -code if code < 0 else code - 128 if code > 128 else code


def check_dies(architecture, cpu, compiler, folder, root, table, name, plant):
    command, _ = emulator(architecture, cpu)
    if not shutil.which(compiler):
        skip(f"{compiler} is not installed")
    rows = json.loads(Path(table).read_text(encoding="utf-8"))["targets"]
    flags = next(row["flags"] for row in rows if row["id"] == name)
    Path(folder).mkdir(parents=True, exist_ok=True)
    ends = {}
    for what in (plant, "SOUND"):
        program = Path(folder) / f"planted-{name}-{what}"
        words = [*flags, f"-DPBPROBE_TARGET={name}", "-DPBPROBE_PROGRAM"]
        words += [f"-DPBPROBE_{what}" if what == "SOUND" else f"-DPBPROBE_PLANT_{what}"]
        source = Path(root) / "tests/kernels/planted.cpp"
        subprocess.run([compiler, "-std=c++20", "-w", *words, source, "-o", program], check=True)
        ends[what] = run_to_end(command, program)
    print(f"{name} on {cpu}: {ends}")
    if ends != {plant: signal.SIGILL, "SOUND": 0}:
        sys.exit(f"the planted {plant} was to end with signal {int(signal.SIGILL)}, its twin with 0")


def main():
    question, architecture, cpu = sys.argv[1:4]
    if question == "dies":
        check_dies(architecture, cpu, *sys.argv[4:])
        return
    program, name = Path(sys.argv[4]), sys.argv[5]
    command, via = emulator(architecture, cpu)
    require_program(program)
    extra = {"PBPROBE_EVIDENCE_VIA": via}
    if question == "refused":
        run_tests(command, program, f"Gemm/*_{name}.RefusedWithoutItsIsa", {**extra, "PBPROBE_EXPECT_REFUSED": "1"})
    else:
        # The long tests are for evidence: an emulated GEMM takes a hundred times as long.
        long = "" if os.environ.get("PBPROBE_EVIDENCE_DIR") else ":-*.Large:*.ManyShapes:*.LongK"
        run_tests(command, program, f"{name}.*:*_{name}.*{long}", {**extra, "PBPROBE_REQUIRE_HARDWARE": "1"})


if __name__ == "__main__":
    main()
