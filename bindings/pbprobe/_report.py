# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""pbprobe.report() and what it returns."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

from pbprobe import _program
from pbprobe._environment import torch_folder
from pbprobe._package import no_gpu_kernels

# A module for this Python where the package was built from source; else the program, which serves every Python.
if importlib.util.find_spec("pbprobe._core") is not None:
    from pbprobe._core import render
else:
    from pbprobe._program import render


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that a check found; `id` is stable (docs/checks.md)."""

    id: str
    severity: str  # "fail", "warn" or "note"
    level: str  # "claimed", "shipped", "loaded", "executed" or "measured"
    what: str
    where: str | None
    remedy: str


class Report:
    """A report of schema pbprobe.report/1. `print(report)` shows it as the command does."""

    def __init__(self, document: dict[str, Any], *, could_run: bool = True) -> None:
        self._document = document
        self._could_run = could_run

    @property
    def verdict(self) -> str:
        """One of "pass", "fail" and "unknown". Unknown is not pass."""
        return str((self._document.get("verdict") or {}).get("outcome", "unknown"))

    @property
    def reason(self) -> str:
        """The verdict's one sentence."""
        return str((self._document.get("verdict") or {}).get("reason", ""))

    @property
    def fix(self) -> str | None:
        """The first thing to do; None where nothing is to be done."""
        fix = (self._document.get("verdict") or {}).get("fix")
        return None if fix is None else str(fix)

    @property
    def findings(self) -> list[Finding]:
        """What the checks found, gravest first as in the document."""
        names = [field.name for field in dataclasses.fields(Finding)]
        rows = (self._document.get("verdict") or {}).get("findings", [])
        return [Finding(**{name: row.get(name) for name in names}) for row in rows]

    @property
    def problems(self) -> list[str]:
        """Steps that could not run, one sentence each with the way out."""
        return list(self._document.get("problems", []))

    @property
    def could_run(self) -> bool:
        """False where there was nothing to judge: no torch, an artifact that cannot be read. `problems` says why."""
        return self._could_run

    def to_dict(self) -> dict[str, Any]:
        """A copy of the whole document."""
        copy: dict[str, Any] = json.loads(json.dumps(self._document))
        return copy

    def to_json(self, *, indent: int | None = 2) -> str:
        """The document as JSON; `pbprobe report FILE` judges it again."""
        return json.dumps(self._document, indent=indent)

    def __str__(self) -> str:
        return render(self.to_json(indent=None), colour=False)

    def __repr__(self) -> str:
        return f"<pbprobe.Report: {self.verdict}, {len(self.findings)} findings>"


def _with_missing_kernels(document: dict[str, Any]) -> dict[str, Any]:
    """Where this machine has a GPU and this package no kernel for one, the document says so, and how to get them."""
    gpus = (document.get("host") or {}).get("gpus") or []
    missing = no_gpu_kernels([gpu["target"] for gpu in gpus if gpu.get("target")])
    if gpus and missing:
        document.setdefault("problems", []).append(missing)
    return document


def _show_progress(step: str) -> None:
    sys.stderr.write(f"\r\033[K{step}")
    sys.stderr.flush()


def report(
    artifact: str | os.PathLike[str] | None = None,
    *,
    quick: bool = True,
    budget: float | None = None,
    show: bool = True,
) -> Report:
    """Judges a torch on this machine, prints the report (unless `show` is false) and returns it.

    artifact: a site-packages folder, an environment, a libtorch, a wheel, or the JSON of a report; by default the torch
        of this interpreter, found without importing it.
    quick: under 10 seconds, 20 with a GPU; False measures more, for minutes, builds a program against torch's headers,
        and (where `artifact` is None) asks in a process of its own what only Python can: torch.compile, NumPy, NVRTC.
    budget: seconds that the whole report may take.
    Errors: ValueError for a budget that is not positive; RuntimeError where the package's program does not start. What
        could not run raises nothing: see Report.problems. Ctrl-C ends it at once.
    """
    if budget is not None and not budget > 0:
        raise ValueError(f"budget={budget}: give a number of seconds above 0, or None")
    chosen = torch_folder() if artifact is None else Path(artifact)
    terminal = sys.stderr.isatty()
    document, could_run = _program.report(
        artifact=chosen,
        roots=[Path(sys.prefix)],  # searched, and named, only where this interpreter has no torch
        python=[sys.executable, "-m", "pbprobe._checks"] if artifact is None else [],
        quick=quick,
        budget_seconds=budget or 0.0,
        progress=_show_progress if terminal else None,
    )
    if terminal:
        _show_progress("")
    result = Report(_with_missing_kernels(document), could_run=could_run)
    if show:
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        sys.stdout.write(render(result.to_json(indent=None), colour=colour))
        sys.stdout.flush()
    return result
