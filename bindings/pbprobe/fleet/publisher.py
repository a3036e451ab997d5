# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Publishes the final document of a worker that ended, so that no rank waits for this worker."""

import json
import os
import sys

from pbprobe.fleet.meeting import leave, open_store, publish
from pbprobe.fleet.settings import parse


def main() -> None:
    """Runs `python -m pbprobe.fleet.publisher SETTINGS`. Reads the document from standard input."""
    settings = parse(sys.argv[1])
    rank = settings.place.rank
    try:
        store = open_store(settings.place.address, settings.place.port, serve=False, seconds=10)
    except RuntimeError:  # the supervisor has written the document where it can
        os._exit(1)
    leave(store, rank)
    publish(store, rank, json.load(sys.stdin), last=True)
    os._exit(0)


if __name__ == "__main__":
    main()
