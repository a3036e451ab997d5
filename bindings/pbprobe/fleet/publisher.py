# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Publishes the last word on a worker that can no longer do it, so that nobody waits for it."""

import json
import sys

from pbprobe.fleet.meeting import open_store, publish
from pbprobe.fleet.settings import parse


def main() -> None:
    """`python -m pbprobe.fleet.publisher SETTINGS`, the document on standard input."""
    settings = parse(sys.argv[1])
    rank = settings.place.rank
    store = open_store(settings.place.address, settings.place.port, serve=False, seconds=10)
    store.set(f"gone/{rank}", "1")
    store.add("gone", 1)
    publish(store, rank, json.load(sys.stdin), last=True)


if __name__ == "__main__":
    main()
