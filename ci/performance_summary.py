#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Writes the first screen of docs/performance.md from the tables below it.

ci/performance_summary.py [--check]    exit code 1 where it is not what they say
"""

import pathlib
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/performance.md"
BEGIN = "<!-- by ci/performance_summary.py -->\n"
END = "<!-- end of the summary -->\n"
LARGE = "squares of 1024 and more"
LEAST_SHARE = 0.2


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables_of(text: str) -> list[list[dict[str, str]]]:
    """Each table as its rows by the heads of their columns."""
    tables, head = [], None
    for line in text.splitlines():
        if not line.startswith("|"):
            head = None
        elif head is None:
            head = cells_of(line)
            tables.append([])
        elif not line.startswith("|---"):
            tables[-1].append(dict(zip(head, cells_of(line), strict=True)))
    return tables


def rows_of(text: str) -> list[str]:
    """The newest figure of each class, which stands first. Where not the arithmetic decides, no share of a peak."""
    rows: dict[str, str] = {}
    for table in tables_of(text):
        for row in table:
            if row.get("shapes") == LARGE and row["threads"] == "1":
                what = f"{row['target']}, one thread, {LARGE}"
                speed = f"{row['of libtorch']} of libtorch | {row['most GFLOP/s']} GFLOP/s at most"
                rows.setdefault(what, f"| {what} | {speed} |")
            name = row.get("series", "")
            if name.startswith("**") and row.get("of cublaslt", "-") != "-" and "mma.sync" not in name:
                what, peak = f"Hopper, {name.strip('*')}", row["of the peak"]
                share = f"{peak} of the peak" if float(peak.split()[0]) >= LEAST_SHARE else ""
                rows.setdefault(what, f"| {what} | {row['of cublaslt']} of cuBLASLt | {share} |")
    return list(rows.values())


def main() -> int:
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    table = "| what | our kernels' speed | |\n|---|---|---|\n" + "".join(row + "\n" for row in rows_of(after))
    new = before + BEGIN + table + END + after
    if "--check" in sys.argv[1:]:
        if new != text:
            print("docs/performance.md: its first table is not what the others say: ci/performance_summary.py")
        return int(new != text)
    PAGE.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
