# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Where the program and this interpreter's torch lie."""

from __future__ import annotations

import importlib.util
from pathlib import Path

PROGRAM = Path(__file__).parent / "bin" / "pbprobe"


def torch_folder() -> Path | None:
    """The folder of this interpreter's torch, or None. Imports nothing."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:  # a folder that happens to be called torch has no origin
        return None
    return Path(spec.origin).parent
