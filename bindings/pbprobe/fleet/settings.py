# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Settings of a job, as passed between supervisor, worker and collector."""

import dataclasses
import hashlib
import json
import sys
from pathlib import Path

from pbprobe.fleet.launch import Place

GRACE = 30.0  # seconds beyond joining and budget after which no process of the job is left
WORKING, GATHERING = 8.0, 17.0  # of these: workers end, gathering ends; the rest is for judging
QUICK = 12.0  # seconds: a smaller budget measures less of each
SILENCE = 15.0  # seconds without a sign of life after which a worker hangs


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings of one rank."""

    place: Place
    host: str
    output: str
    version: str
    budget: float  # seconds, from when all have joined
    join: float  # seconds that the job waits for ranks to come
    device: str  # "cpu", "cuda", or "auto"
    redact: bool

    @property
    def shown_host(self) -> str:
        """Returns the host name for documents: hashed with --redact."""
        return hidden(self.host) if self.redact else self.host

    @property
    def folder(self) -> Path:
        """The folder for documents."""
        return Path(self.output)

    @property
    def quick(self) -> bool:
        """Reports whether the budget is only seconds, as in --node-health."""
        return self.budget < QUICK

    @property
    def limit(self) -> float:
        """Seconds from a process's start to its end, whatever happens."""
        return self.join + self.budget + GRACE

    @property
    def working(self) -> float:
        """Seconds until a worker is abandoned."""
        return self.join + self.budget + WORKING

    @property
    def gathering(self) -> float:
        """Seconds until reports are no longer waited for."""
        return self.join + self.budget + GATHERING

    def command(self, module: str) -> list[str]:
        """Starts another part of the job, with the same settings."""
        return [sys.executable, "-m", f"pbprobe.fleet.{module}", json.dumps(dataclasses.asdict(self))]


def hidden(name: str) -> str:
    """Returns a name that is equal in every document, but reveals nothing."""
    return hashlib.sha256(name.encode()).hexdigest()[:12]


def parse(text: str) -> Settings:
    """Parses the output of Settings.command()."""
    fields = json.loads(text)
    return Settings(**{**fields, "place": Place(**fields["place"])})
