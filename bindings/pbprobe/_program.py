# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Drives the program that the package ships, so that one wheel serves every Python, and Ctrl-C ends a report."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from pbprobe._environment import PROGRAM

_COULD_NOT_START = "pbprobe: {program} cannot be started: {why}: install the package again"


def start(arguments: list[str], **streams: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401 - those of Popen
    """The program with these arguments. Error: RuntimeError, where it cannot be started."""
    try:
        return subprocess.Popen([str(PROGRAM), *arguments], **streams)
    except OSError as error:
        raise RuntimeError(_COULD_NOT_START.format(program=PROGRAM, why=error.strerror)) from error


def version_and_commit() -> tuple[str, str]:
    """What `pbprobe --version` says."""
    with start(["--version"], stdout=subprocess.PIPE) as process:
        said = process.communicate()[0].decode()
    found = re.match(r"pbprobe (\S+) \((.+)\)", said)
    if found is None:
        raise RuntimeError(_COULD_NOT_START.format(program=PROGRAM, why=f"it says {said[:80]!r}"))
    return found[1], found[2]


def _follow(stream: IO[bytes], progress: Callable[[str], None] | None, lines: list[str]) -> None:
    for line in stream:
        lines.append(line.decode(errors="replace").rstrip("\n"))
        if progress is not None:
            progress(lines[-1])


def report(
    artifact: Path | None,
    roots: list[Path],
    python: list[str],
    quick: bool,
    budget_seconds: float,
    progress: Callable[[str], None] | None,
) -> tuple[dict[str, Any], bool]:
    """A document of pbprobe.report/1, and whether there was anything to judge.

    An exception while it runs, such as KeyboardInterrupt, ends the program; what it started ends with it.
    """
    arguments = ["drive", "report", f"--budget={budget_seconds}"]
    arguments += [f"--root={root}" for root in roots] + [f"--python={word}" for word in python]
    arguments += [] if quick else ["--full"]
    arguments += [] if progress is None else ["--progress"]
    arguments += [] if artifact is None else ["--", os.fspath(artifact)]
    process = start(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines: list[str] = []
    assert process.stdout is not None and process.stderr is not None
    follower = threading.Thread(target=_follow, args=(process.stderr, progress, lines), daemon=True)
    try:
        with process.stdout as stdout, process.stderr:
            follower.start()
            answer = stdout.read()
            code = process.wait()
            follower.join()
    except BaseException:
        process.kill()
        process.wait()
        raise
    if code != 0:
        raise RuntimeError(lines[-1] if lines else f"pbprobe: the program ended with {code} and said nothing")
    read = json.loads(answer)
    return read["report"], bool(read["could_run"])


def render(document: str, colour: bool) -> str:
    """Text for people from JSON of pbprobe.report/1. ValueError names the key that is wrong."""
    arguments = ["drive", "render", *(["--color"] if colour else [])]
    pipe = subprocess.PIPE
    with start(arguments, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        text, said = process.communicate(document.encode())
    if process.returncode != 0:
        raise ValueError(said.decode(errors="replace").strip().removeprefix("pbprobe: "))
    return text.decode()
