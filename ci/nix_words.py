# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Classifies error texts of failed Nix builds: fault of the recipe, or of the machine."""

from __future__ import annotations

import re

# Texts of machine, daemon or network errors, which do not concern the recipe.
COULD_NOT_RUN = re.compile(
    r"No space left on device|Cannot allocate memory|unable to fork|Killed signal terminated program"
    r"|cannot connect to (?:socket|daemon)|unable to download|interrupted by the user"
)
FIRST = re.compile(r"(?:\W*ERROR: )?error:")  # also as flox hands it on
PLAN = re.compile(r"th(?:ese|is) .*derivations? will be built|\s+/\S+\.drv$|building '")
BEFORE = 5  # lines of the builder that led to Nix's first error


def ending(log: str) -> list[str]:
    """Returns the last lines of the builder, and everything from the first error of Nix on."""
    lines = [line.strip() for line in log.splitlines() if line.strip() and not PLAN.match(line)] or ["nothing"]
    first = next((at for at, line in enumerate(lines) if FIRST.match(line)), len(lines) - 1)
    return lines[max(first - BEFORE, 0) :]


def last_words(log: str) -> str:
    """Returns the ending in one line."""
    lines = ending(log)
    return "; ".join([*lines[: BEFORE + 1], *lines[BEFORE + 1 :][-1:]])


def exit_code(status: int, log: str) -> int:
    """Returns 2 if the build could not be tried, else 1. Replaces the codes of Nix (100 to 104)."""
    return 2 if status < 0 or any(map(COULD_NOT_RUN.search, ending(log))) else 1
