# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Tests that every id of targets.json has in any build, so that `ctest -L '^sm121$'` always finds one.

    target.py row PROGRAM TABLE ID      the program lists the id as the table has it, with rows of kernels
    target.py built PROGRAM TABLE ID    its kernels are built
    target.py kernels PROGRAM TABLE ID KERNELS_TEST    every kernel of it has tests in the program of tests

Exit code: 0, 1, or 77 if it was not built. That is a failure if PBPROBE_REQUIRE_HARDWARE=1 or, for `built`, if this
machine has the target's hardware.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

SKIPPED = 77


def ask(program, command):
    done = subprocess.run([program, command, "--format", "json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"`pbprobe {command}` ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def find_listed_target(program, name):
    rows = [row for row in ask(program, "targets")["targets"] if row["id"] == name]
    if len(rows) != 1:
        sys.exit(f"`pbprobe targets` lists {name} {len(rows)} times")
    return rows[0]


def has_hardware(program, name):
    host = ask(program, "host")
    return name in host["cpu"]["targets"] or any(gpu["target"] == name for gpu in host["gpus"])


def check_row(program, table, name):
    row = find_listed_target(program, name)
    for key in ("kind", "products"):
        if row[key] != table[key]:
            sys.exit(f"{name}: {key} is {row[key]}, but {table[key]} in the table")
    if row["built"] == bool(row["why_not"]):
        sys.exit(f"{name}: built is {row['built']}, but why_not is {row['why_not']}")
    print(f"{name}: {len(row['kernels'])} kernels")


def check_built(program, name):
    row = find_listed_target(program, name)
    if row["built"]:
        print(f"{name}: built")
        return 0
    print(row["why_not"])
    if os.environ.get("PBPROBE_REQUIRE_HARDWARE") == "1":
        print("PBPROBE_REQUIRE_HARDWARE=1 asks for it")
        return 1
    # Without rows of kernels no build can have it.
    if row["kernels"] and has_hardware(program, name):
        print(f"this machine has {name}: run `make build TARGETS={name}`")
        return 1
    return SKIPPED


def check_kernels(program, name, tests):
    """gtest_discover_tests gives a program that is not built one placeholder, which has no label."""
    listed = subprocess.run([tests, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
    kernels = [kernel["name"] for kernel in find_listed_target(program, name)["kernels"]]
    absent = [kernel for kernel in kernels if f"Gemm/{kernel}." not in listed.splitlines()]
    if absent:
        sys.exit(f"no test of {', '.join(absent)}")
    print(f"{name}: {len(kernels)} kernels have tests")


def main():
    question, program, table, name = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
    programs = [program, *map(Path, sys.argv[5:])]
    if not all(needed.exists() for needed in programs):
        print(f"not built: make {'test' if question == 'kernels' else 'build'} TARGETS={name}")
        return 1 if os.environ.get("PBPROBE_REQUIRE_HARDWARE") == "1" else SKIPPED
    if question == "kernels":
        check_kernels(program, name, programs[1])
        return 0
    if question == "built":
        return check_built(program, name)
    rows = {row["id"]: row for row in json.loads(table.read_text(encoding="utf-8"))["targets"]}
    check_row(program, rows[name], name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
