# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Markdown tables of the documents that `python -m pbprobe.speed --json` writes. Imports nothing but the library."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

SCHEMA = "pbprobe.speed/1"


def summarize(shapes: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Returns the geometric mean, the 5th percentile, the least and the share of ratios from 1 on.

    Requires at least one shape, each with its "ratio": the peer's time over ours.
    """
    ratios = sorted(shape["ratio"] for shape in shapes)
    return {
        "mean": math.exp(sum(map(math.log, ratios)) / len(ratios)),
        "p5": ratios[len(ratios) // 20],
        "least": ratios[0],
        "share_from_1": sum(ratio >= 1 for ratio in ratios) / len(ratios),
    }


def describe_call(row: dict[str, Any]) -> str:
    """Returns how a row's operators were called: "1 thread", "16 threads", "eager" or "CUDA graph"."""
    if row["mode"]:
        return {"eager": "eager", "graph": "CUDA graph"}[row["mode"]]
    return "1 thread" if row["threads"] == 1 else f"{row['threads']} threads"


def describe_shapes(row: dict[str, Any]) -> str:
    """Returns how many of the drawn shapes were measured, and why the others were not."""
    others = (
        ("refused_by_peer", "the peer refuses {}"),
        ("refused", "pbprobe refuses {}"),
        ("wrong", "pbprobe is wrong on {}"),
        ("peer_wrong", "the peer is wrong on {}"),
        ("too_large", "{} exceed the memory"),
        ("disturbed", "{} disturbed by other work"),
        ("not_reached", "{} exceed the budget"),
    )
    parts = [text.format(row[key]) for key, text in others if row[key]]
    return "; ".join([f"{len(row['shapes'])} of {row['drawn']}", *parts])


def list_targets(row: dict[str, Any]) -> str:
    """Returns the targets of the row's kernels: "amx, avx512"."""
    return ", ".join(sorted({shape["kernel"].rsplit("_", 1)[1] for shape in row["shapes"]}))


def summary_lines(documents: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yields the table of all rows: a line each."""
    yield "| device | type | call | peer | kernels | shapes | geometric mean | 5th percentile | least | from 1 on |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for document in documents:
        peer = re.sub(r"\+\w+| \(.*", "", document["peer"])
        for row in document["rows"]:
            name, call = document["device"]["name"], describe_call(row)
            head = f"| {name} | {row['dtype']} | {call} | {peer} | {list_targets(row)} | {describe_shapes(row)} |"
            if not row["shapes"]:
                yield f"{head} | | | |"
                continue
            figures = summarize(row["shapes"])
            yield (
                f"{head} {figures['mean']:.2f} | {figures['p5']:.2f} | {figures['least']:.2f} "
                f"| {100 * figures['share_from_1']:.0f} % |"
            )


def worst_lines(documents: Sequence[dict[str, Any]], count: int) -> Iterator[str]:
    """Yields the table of each row's worst shapes, `count` of each row at most."""
    yield (
        "| device | type | call | layer | mxnxk | peer / pbprobe | pbprobe, µs | peer, µs | kernel | fastest kernel "
        "| fastest, µs |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for document in documents:
        for row in document["rows"]:
            for shape in sorted(row["shapes"], key=lambda one: one["ratio"])[:count]:
                fastest = shape.get("fastest_us")
                yield (
                    f"| {document['device']['name']} | {row['dtype']} | {describe_call(row)} | {shape['layer']} "
                    f"| {shape['m']}x{shape['n']}x{shape['k']} | {shape['ratio']:.2f} | {shape['ours_us']:.1f} "
                    f"| {shape['peer_us']:.1f} | {shape['kernel']} | {shape.get('fastest_kernel') or '-'} "
                    f"| {'-' if fastest is None else f'{fastest:.1f}'} |"
                )


def describe_conditions(document: dict[str, Any]) -> str:
    """Returns a sentence with the device, the versions, the seed and the command."""
    device = document["device"]
    driver = f", driver {device['driver']}" if device.get("driver") else ""
    peer = "" if document["peer"].startswith("torch ") else f", {document['peer']}"
    load = f", load {device['load']:.1f}" if device.get("load") is not None else ""
    return (
        f"{device['name']} ({device['cpus']} CPUs{load}{driver}), torch {document['torch']}{peer}, {document['date']}, "
        f"seed {document['seed']}, m from 1 to {document['most_m']}, at most {document['most_flop']:.0e} operations: "
        f"`{document['command']}`"
    )
