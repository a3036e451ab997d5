# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Drives the program that the package ships, so that one wheel serves every Python, and Ctrl-C ends it at once."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pbprobe._environment import PROGRAM, not_started
from pbprobe._errors import Error

GRACE_SECONDS = 0.1  # what it may take to tidy up before it is killed
GIVE_UP_SECONDS = 1.0  # what hangs in a driver outlives its kill


def end(child: subprocess.Popen[str]) -> None:
    """Ends a child that leads a session. Its measuring processes end with it, because they ask the kernel for that."""
    for number, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, GIVE_UP_SECONDS)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=seconds)
            return


def exchange(child: subprocess.Popen[str], given: str | None) -> tuple[str, str]:
    """Returns all that the child writes to both pipes. Avoids communicate(), which waits 0.25 s after Ctrl-C."""
    errors: list[str] = []

    def read_errors() -> None:
        if child.stderr:
            with child.stderr:
                errors.append(child.stderr.read())

    reader = threading.Thread(target=read_errors, daemon=True)
    reader.start()
    if child.stdin:
        with contextlib.suppress(BrokenPipeError), child.stdin:
            child.stdin.write(given or "")
    assert child.stdout is not None
    with child.stdout:
        out = child.stdout.read()
    child.wait()
    reader.join()
    return out, "".join(errors)


def run_command(command: Sequence[str], *, given: str | None = None, shown: bool = False) -> tuple[int, str, str]:
    """Runs a command. Returns exit code, standard output and standard error. Shows its progress if `shown`.

    Errors: Error, if it cannot be started. An exception during the run, such as KeyboardInterrupt, ends the command.
    """
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if given is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if shown else subprocess.PIPE,
            encoding="utf-8",  # what the program writes, whatever the locale is
            errors="replace",
            start_new_session=True,  # Ctrl-C on a terminal is for this process, which then ends the other
        )
    except OSError as error:
        raise Error(not_started(command[0], error)) from error
    try:
        out, error_text = exchange(child, given)
    except BaseException:
        end(child)
        raise
    return child.returncode, out, error_text


def extract_message(error: str) -> str:
    """Returns the program's message without its name."""
    lines = [line.removeprefix("pbprobe: ") for line in error.splitlines() if line.startswith("pbprobe: ")]
    return " ".join(lines[:1])


def program(*arguments: str, shown: bool = False) -> dict[str, Any]:
    """Returns the JSON that `pbprobe ARGUMENTS` writes. Errors: Error, with the program's message."""
    code, out, error = run_command([str(PROGRAM), *arguments], shown=shown)
    try:
        document: dict[str, Any] = json.loads(out)
    except ValueError:
        raise Error(extract_message(error) or f"pbprobe {' '.join(arguments)} ended with {code}") from None
    return document


def version_and_commit() -> tuple[str, str]:
    """Returns version and commit of the program."""
    _, out, _ = run_command([str(PROGRAM), "--version"])
    found = re.match(r"pbprobe (\S+) \((.+)\)", out)
    if found is None:
        raise Error(f"{PROGRAM} reports the version {out[:80]!r}: install the package again")
    return found[1], found[2]


def make_report_document(
    artifact: Path | None,
    roots: list[Path],
    claim: str | None,
    python: list[str],
    quick: bool,
    budget_seconds: float,
) -> tuple[dict[str, Any], bool]:
    """Returns a document of pbprobe.report/1, and whether a torch was judged. Errors: ValueError for an invalid claim;
    Error.
    """
    arguments = ["drive", "report", f"--budget={budget_seconds}"]
    arguments += [f"--root={root}" for root in roots] + [f"--python={word}" for word in python]
    arguments += [] if claim is None else [f"--claim={claim}"]
    arguments += [] if quick else ["--full"]
    arguments += [] if artifact is None else ["--", os.fspath(artifact)]
    answer = program(*arguments, shown=sys.stderr.isatty())
    if "error" in answer:
        raise ValueError(answer["error"])
    return answer["report"], bool(answer["could_run"])


def render(document: str, colour: bool) -> str:
    """Text for people from JSON of pbprobe.report/1. ValueError names the key that is wrong."""
    arguments = ["drive", "render", *(["--color"] if colour else [])]
    code, text, error = run_command([str(PROGRAM), *arguments], given=document)
    if code != 0:
        raise ValueError(extract_message(error) or error.strip())
    return text
