# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Paths of the program and of this interpreter's torch."""

from __future__ import annotations

import importlib.util
from pathlib import Path

PROGRAM = Path(__file__).parent / "bin" / "pbprobe"


def not_started(program: str, error: OSError) -> str:
    """Returns a message with the cause and the fix."""
    way_out = "install the package again"
    if isinstance(error, NotADirectoryError):
        way_out = "pbprobe is in a ZIP file, from which no program starts: install it by pip, or unpack the file"
    elif isinstance(error, PermissionError):
        way_out = "install pbprobe again, into a folder whose programs may be started"
    return f"{program} cannot be started: {error.strerror}: {way_out}"


def torch_folder() -> Path | None:
    """Returns the folder of the torch that this interpreter would import, or None. Imports nothing."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:  # a folder that happens to be called torch has no origin
        return None
    return Path(spec.origin).parent
