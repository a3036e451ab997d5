# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Helper process of rank 0: serves the store if the launcher does not, and gathers the published reports.

A separate process, so that the death of rank 0's worker does not affect the other ranks.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pbprobe.fleet.document import SPARE, document_path, spare_folder, write_document
from pbprobe.fleet.meeting import open_store, published, read_roster
from pbprobe.fleet.settings import parse

if TYPE_CHECKING:
    import torch.distributed as dist

PORT_TAKEN = 3


def _write(folder: Path, store: "dist.Store", roster: list[str]) -> tuple[Path, list[int]]:
    """Writes the published reports to `folder`, or to a spare folder if `folder` is full or not writable."""
    written: list[int] = []
    for rank in range(len(roster)):
        document = published(store, rank)
        if document is None:
            continue
        document["roster"] = [] if written else roster
        problem = write_document(document_path(folder, rank), document)
        if problem is None:
            written.append(rank)
        elif folder.name.startswith(SPARE):
            sys.stderr.write(f"pbprobe.fleet: {problem}\n")
        else:
            spare = spare_folder(problem)
            return (folder, written) if spare is None else _write(spare, store, roster)
    return folder, written


def main() -> None:
    """Runs `python -m pbprobe.fleet.collector SETTINGS`. Prints the ranks whose documents it wrote, as JSON."""
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
    deadline = begin + settings.gathering
    came, roster = place.world, list[str]()
    while time.monotonic() < deadline:
        if not roster and store.check(["all/join"]):
            came = len(json.loads(store.get("all/join")))
            roster = read_roster(store, place.world)
            store.set("roster", json.dumps(roster))
        if store.add("lasts", 0) >= came:
            break
        time.sleep(0.25)
    roster = roster or [""] * place.world  # the joining had no end
    folder, written = _write(settings.folder, store, roster)
    sys.stdout.write(json.dumps({"folder": str(folder), "ranks": written}))
    sys.stdout.flush()
    time.sleep(1)  # the store outlives the last answers
    os._exit(0)


if __name__ == "__main__":
    main()
