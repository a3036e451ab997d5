# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Beside rank 0: serves the store where the launcher does not, and gathers what the ranks published.

A process of its own, so that the death of rank 0's worker takes nothing away from the others.
"""

import json
import os
import sys
import time

from pbprobe.fleet.document import file_of, write_document
from pbprobe.fleet.meeting import open_store, published, roster_of
from pbprobe.fleet.settings import GRACE, parse

PORT_TAKEN = 3


def main() -> None:
    """`python -m pbprobe.fleet.collector SETTINGS`. Prints the ranks whose documents it wrote, as JSON."""
    settings = parse(sys.argv[1])
    place = settings.place
    begin = time.monotonic()
    try:
        store = open_store(place.address, place.port, serve=not place.agent_store, seconds=settings.join)
    except RuntimeError as error:
        reason = str(error).strip().split("\n")[0]
        sys.stderr.write(
            f"pbprobe.fleet: {place.address}:{place.port} cannot be used for the store: {reason}: set MASTER_PORT to "
            "another port\n"
        )
        sys.exit(PORT_TAKEN)
    deadline = begin + settings.join + settings.budget + GRACE / 2
    came, roster = place.world, list[str]()
    while time.monotonic() < deadline:
        if not roster and store.check(["all/join"]):
            came = len(json.loads(store.get("all/join")))
            roster = roster_of(store, place.world)
            store.set("roster", json.dumps(roster))
        if store.add("lasts", 0) >= came:
            break
        time.sleep(0.25)
    written: list[int] = []
    for rank in range(place.world):
        document = published(store, rank)
        if document is None:
            continue
        document["roster"] = [] if written else roster
        problem = write_document(file_of(settings.folder, rank), document)
        if problem is not None:
            sys.stderr.write(f"pbprobe.fleet: {problem}\n")
        else:
            written.append(rank)
    sys.stdout.write(json.dumps(written))
    sys.stdout.flush()
    time.sleep(1)  # the store outlives the last answers
    os._exit(0)


if __name__ == "__main__":
    main()
