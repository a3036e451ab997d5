# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Starts the program, or a report, in a process of its own, which Ctrl-C ends at once with all that it started."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pbprobe._environment import PROGRAM
from pbprobe._errors import Error

COULD_NOT_RUN = 2
GRACE_SECONDS = 0.1  # what it may take to tidy up before it is killed
GIVE_UP_SECONDS = 1.0  # what hangs in a driver outlives its kill


def end(child: subprocess.Popen[str]) -> None:
    """Ends a child that leads a session. What measures under it asks the kernel to be ended with its parent."""
    for number, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, GIVE_UP_SECONDS)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=seconds)
            return


def output_of(command: Sequence[str], *, given: str | None = None, shown: bool = False) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command. What it says of its progress is shown where asked."""
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE if given is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if shown else subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C on a terminal is for this process, which then ends the other
    )
    try:
        out, error = child.communicate(given)
    except BaseException:
        end(child)
        raise
    return child.returncode, out, error or ""


def program(*arguments: str) -> dict[str, Any]:
    """What `pbprobe ARGUMENTS` writes as JSON. Errors: Error, in the program's words."""
    if not PROGRAM.exists():
        raise Error(f"{PROGRAM} is not there: install the package again")
    code, out, error = output_of([str(PROGRAM), *arguments])
    try:
        document: dict[str, Any] = json.loads(out)
    except ValueError:
        raise Error(words_of(error) or f"pbprobe {' '.join(arguments)} ended with {code}") from None
    return document


def words_of(error: str) -> str:
    """The program's sentence, without its name before it."""
    lines = [line.removeprefix("pbprobe: ") for line in error.splitlines() if line.startswith("pbprobe: ")]
    return " ".join(lines[:1])


def report_in_child(**options: object) -> tuple[dict[str, Any], bool]:
    """The document of a report, and whether it could run; in another interpreter, so that it can be ended."""
    folder = str(Path(__file__).absolute().parent.parent)
    code = f"import sys; sys.path.insert(0, {folder!r}); from pbprobe._children import main; main()"
    status, out, error = output_of([sys.executable, "-c", code], given=json.dumps(options), shown=sys.stderr.isatty())
    if status != 0:
        lines = error.strip().splitlines()
        raise Error(f"the report ended with {status}: {lines[-1] if lines else 'without a word'}")
    answer = json.loads(out)
    if "error" in answer:
        raise ValueError(answer["error"])
    return answer["document"], answer["could_run"]


def _show_progress(step: str) -> None:
    sys.stderr.write(f"\r\033[K{step}")
    sys.stderr.flush()


def main() -> None:
    """The child of report_in_child(): options as JSON on standard input, the answer on standard output."""
    from pbprobe import _core

    options = json.load(sys.stdin)
    paths: dict[str, Any] = {"artifact": Path(options["artifact"]) if options["artifact"] else None, "program": PROGRAM}
    paths["roots"] = [Path(root) for root in options["roots"]]
    terminal = sys.stderr.isatty()
    try:
        document, could_run = _core.report(**{**options, **paths}, progress=_show_progress if terminal else None)
        answer = {"document": json.loads(document), "could_run": could_run}
    except ValueError as error:
        answer = {"error": str(error)}
    if terminal:
        _show_progress("")
    json.dump(answer, sys.stdout)
    sys.stdout.flush()
