#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Writes the first tables of docs/performance.md from docs/samples/speed-*.json, which pbprobe.speed wrote.

ci/performance_summary.py [--check]    exit code 1 if the page differs, or a row has fewer than 100 shapes
"""

import importlib.util
import json
import pathlib
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/performance.md"
SAMPLES = ROOT / "docs/samples"
BEGIN = "<!-- by ci/performance_summary.py -->\n"
END = "<!-- end of the summary -->\n"
LEAST_SHAPES = 100
WORST = 3  # shapes of each row


def load_table() -> types.ModuleType:
    """Returns the package's module of tables, without the package, which needs a build."""
    spec = importlib.util.spec_from_file_location("speed_table", ROOT / "bindings/pbprobe/_speed_table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_documents(folder: pathlib.Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("speed-*.json"))]


def find_short_rows(documents: list[dict]) -> list[str]:
    return [
        f"{document['device']['name']}, {row['dtype']}, {row['threads'] or row['mode']}: {len(row['shapes'])} shapes, "
        f"and {LEAST_SHAPES} are the least: measure it again with a larger --count or --budget"
        for document in documents
        for row in document["rows"]
        if len(row["shapes"]) < LEAST_SHAPES
    ]


def render(documents: list[dict]) -> str:
    table = load_table()
    if not documents:
        return "docs/samples has no figures of this version.\n"
    conditions = [f"- {table.describe_conditions(document)}" for document in documents]
    parts = [
        table.summary_lines(documents),
        ["", "Measured on:", "", *conditions, "", f"The worst {WORST} shapes of each row:", ""],
        table.worst_lines(documents, WORST),
    ]
    return "".join(f"{line}\n" for part in parts for line in part)


def main() -> int:
    documents = load_documents(SAMPLES)
    short = find_short_rows(documents)
    if short:
        print("\n".join(short))
        return 1
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    new = before + BEGIN + render(documents) + END + after
    if "--check" in sys.argv[1:]:
        if new != text:
            print("docs/performance.md: its first tables differ from docs/samples: run ci/performance_summary.py")
        return int(new != text)
    PAGE.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
