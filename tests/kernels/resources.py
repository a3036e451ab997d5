# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Compares the output of ptxas for each GPU kernel with kernels/cuda/resources.json, so that changes are committed.

    resources.py TABLE ID FILE COMPILER [--write]

FILE: the output of ptxas. COMPILER: the compiler ("nvcc 13.0"); another release than the table's assigns other
registers, which are not compared then. Exit code 0, 1, or 77 if it is not built or the compiler differs.
A kernel's row: registers of a thread, static shared memory of a block, bytes of spills.
"""

import json
import re
import sys
from pathlib import Path

SKIPPED = 77
ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")


def read(text):
    """Rows by symbol, from the output of ptxas -v."""
    rows, name, spilled = {}, None, 0
    for line in text.splitlines():
        if match := ENTRY.search(line):
            name, spilled = match[1], 0
        elif match := SPILLS.search(line):
            spilled = int(match[1]) + int(match[2])
        elif (match := USED.search(line)) and name:
            rows[name] = {"registers": int(match[1]), "shared_bytes": int(match[2] or 0), "spill_bytes": spilled}
            name = None
    return dict(sorted(rows.items()))


def differences(expected, seen):
    for name in sorted(expected.keys() | seen.keys()):
        if expected.get(name) != seen.get(name):
            yield f"{name}: the table has {expected.get(name)}, ptxas says {seen.get(name)}"


def write(path, table, name, rows, compiler):
    table[name] = rows
    table.setdefault("compilers", {}).update([compiler.split()])
    targets = (
        f'"{target}": {{\n' + ",\n".join(f'  "{symbol}": {json.dumps(row)}' for symbol, row in kernels.items()) + "\n}"
        for target, kernels in sorted(table.items())
    )
    path.write_text("{\n" + ",\n".join(targets) + "\n}\n", encoding="utf-8")


def main():
    path, name, output, compiler = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4]
    if not output.exists():
        print(f"not built: make build TARGETS={name}")
        return SKIPPED
    rows = read(output.read_text(encoding="utf-8"))
    table = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if sys.argv[5:] == ["--write"]:
        write(path, table, name, rows, compiler)
        return 0
    kind, _, version = compiler.partition(" ")
    known = table.get("compilers", {}).get(kind, version)
    expected = table.get(name, {})
    known_spills = {symbol: row["spill_bytes"] for symbol, row in expected.items()}
    spilled = {
        symbol: row["spill_bytes"]
        for symbol, row in rows.items()
        if row["spill_bytes"] and row["spill_bytes"] != known_spills.get(symbol)
    }
    if version != known and rows and rows.keys() == expected.keys() and not spilled:
        print(f"{name}: the table is of {kind} {known}, and {compiler} compiled this: registers are not compared.")
        print(
            f"Nor do records of cubins by {kind} {known} hold for these: until their tests ran here, `pbprobe targets`"
        )
        print("has them as assembled, and not as executed.")
        return SKIPPED
    found = list(differences(expected, rows))
    found += [f"{symbol}: {count} bytes are spilled" for symbol, count in spilled.items()]
    if not rows:
        found.append(f"{output} names no kernel")
    print("\n".join(found) or f"{name}: {len(rows)} kernels as committed")
    if found:
        print(
            f"If this is meant: tests/kernels/resources.py {path} {name} {output} '{compiler}' --write, and commit it"
        )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
