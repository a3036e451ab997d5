# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The document of one rank (pbprobe.node/1, docs/node.schema.json), and functions that write it atomically."""

import contextlib
import datetime
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

Document = dict[str, Any]
SPARE = "pbprobe-fleet-"


def new_document(host: str, version: str, world: int | None, rank: int, local_rank: int) -> Document:
    """Returns a document with one rank in state "running" and without results."""
    row = {
        "rank": rank,
        "local_rank": local_rank,
        "device": "unknown",
        "uuid": None,
        "state": "running",
        "state_why": None,
        "facts": {},
        "figures": {},
        "digests": {},
        "links": [],
        "collectives": [],
        "late_ms": [],
        "phases": [],
        "wrong": [],
        "errors": [],
        "trace": None,
    }
    return {
        "schema": "pbprobe.node/1",
        "host": host,
        "created": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "pbprobe_version": version,
        "world": world,
        "clock_offset_s": None,
        "roster": [],
        "absent": [],
        "libraries": {},
        "ranks": [row],
    }


def end(document: Document, state: str, why: str | None = None) -> None:
    """Writes down how the rank's process ended."""
    row = document["ranks"][0]
    row["state"] = state
    row["state_why"] = why


def document_path(folder: Path, rank: int) -> Path:
    """Returns the path of a rank's document."""
    return folder / f"rank-{rank:05d}.json"


def spare_folder(problem: str) -> Path | None:
    """Makes another folder for reports, and prints its path. Returns None if that fails."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=SPARE))
    except OSError as error:
        sys.stderr.write(f"pbprobe.fleet: {problem}, and no other folder is available: {error}\n")
        return None
    sys.stderr.write(f"pbprobe.fleet: {problem}: what was gathered is in {folder}\n")
    return folder


def write_document(file: Path, document: Document) -> str | None:
    """Writes the document atomically. Returns the error, else None, because a full disk must not end the run."""
    partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(document), encoding="utf-8")
        partial.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        return f"{file} could not be written: {error.strerror}"
    return None
