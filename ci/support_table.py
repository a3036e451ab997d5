#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Writes the table of docs/instructions.md: target x type to instruction and evidence of the preferred kernel.

  ci/support_table.py PROGRAM… [--check]

Keeps rows of targets that no PROGRAM was built for; a machine with the cross build gives both programs. --check changes
no file; exit code 1 if a row differs from the programs, 77 if the programs know no row.
"""

import argparse
import json
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/instructions.md"
BEGIN = "<!-- by ci/support_table.py -->\n"
END = "<!-- end of the table -->\n"
TYPES = ("fp32", "tf32", "bf16", "fp16", "int8", "e4m3", "e2m1x2")
SKIPPED = 77


def make_support_row(target: dict) -> str | None:
    """Returns the cells of a target, or None if it is not built."""
    kernels = {}
    for kernel in target["kernels"]:
        kernels.setdefault(kernel["dtype"], []).append(kernel)
    if not kernels or any(of_type[0]["evidence"] == "not-built" for of_type in kernels.values()):
        return None
    cells = [make_cell(kernels[dtype]) if dtype in kernels else "-" for dtype in TYPES]
    return f"| {target['id']} | " + " | ".join(cells) + " |\n"


def make_cell(kernels: list[dict]) -> str:
    """Returns the instruction and evidence of the preferred kernel, and how many share this evidence if not all do."""
    evidence = kernels[0]["evidence"]
    same = sum(kernel["evidence"] == evidence for kernel in kernels)
    count = "" if same == len(kernels) else f" ({same} of {len(kernels)} kernels)"
    return f"{kernels[0]['instruction']}, {evidence}{count}"


def ask(programs: list[str]) -> dict[str, str | None]:
    """Returns the rows by target, in the table's order; None for targets that no program contains."""
    rows = {}
    for program in programs:
        listed = json.loads(
            subprocess.run([*program.split(), "targets", "--format", "json"], capture_output=True, check=True).stdout
        )
        for target in listed["targets"]:
            if not target["kernels"]:
                continue  # it is there for audits only
            rows[target["id"]] = rows.get(target["id"]) or make_support_row(target)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    kept = {line.split("|")[1].strip(): line for line in old.splitlines(keepends=True) if line.startswith("| ")}
    rows = ask(options.programs)
    if not any(rows.values()):
        print("no target is built: make build TARGETS=all")
        return SKIPPED
    made = {
        target: row or kept.get(target, f"| {target} |" + " not built |" * len(TYPES) + "\n")
        for target, row in rows.items()
    }
    table = "| target | " + " | ".join(t.upper() for t in TYPES) + " |\n" + "|---" * (1 + len(TYPES)) + "|\n"
    new = before + BEGIN + table + "".join(made.values()) + END + after
    if options.check:
        stale = [target for target, row in rows.items() if row and row != kept.get(target)]
        for target in stale:
            print(f"docs/instructions.md: {target}: not {rows[target].strip()}: run ci/support_table.py PROGRAM")
        return 1 if stale else 0
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
