# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Where ranks meet: torch.distributed's store, in bounded messages, and nobody waits beyond a deadline.

A rank sends four messages a phase where all is well (a mark, a count, one wait, one read), whatever the number of
ranks; its document goes in pieces of 64 KiB. Who is missing is decided once: the first to see the deadline writes the
list of those who came, and all others take that list.
"""

import datetime
import json
import time
import zlib
from typing import Any

import torch.distributed as dist

PIECE = 64 * 1024
SLICE = 0.5  # seconds between looks at who has gone
LIVING = 20  # seconds that a message to the store may take


def open_store(address: str, port: int, *, serve: bool, seconds: float) -> dist.Store:
    """Errors: RuntimeError (nobody serves it there in time; the port is taken)."""
    limit = datetime.timedelta(seconds=max(seconds, 1))
    store = dist.TCPStore(address, port, None, serve, timeout=limit, wait_for_workers=False)
    store.set_timeout(datetime.timedelta(seconds=LIVING))
    return dist.PrefixStore("pbprobe.fleet", store)


class Meeting:
    """One rank's side of it."""

    def __init__(self, store: dist.Store, rank: int, world: int) -> None:
        self.store = store
        self.rank = rank
        self.members = list(range(world))

    def agree(self, phase: str, deadline: float) -> list[int]:
        """Waits for the members until time.monotonic() is `deadline`; those who came are the members from now on.

        Returns who did not. This rank itself is among them where it was late.
        """
        before = self.members
        self.store.set(f"at/{phase}/{self.rank}", "1")
        arrived = self.store.add(f"count/{phase}", 1)
        key = f"all/{phase}"
        while arrived < len(before):
            if self._decided(key, min(SLICE, deadline - time.monotonic())):
                break
            arrived = self.store.add(f"count/{phase}", 0)
            if time.monotonic() >= deadline or self._rest_has_gone(phase, before):
                break
        mine = before if arrived >= len(before) else self._arrived(phase, before)
        decided = self.store.compare_set(key, "", json.dumps(mine))
        self.members = json.loads(decided)
        return [rank for rank in before if rank not in set(self.members)]

    def _decided(self, key: str, seconds: float) -> bool:
        try:
            self.store.wait([key], datetime.timedelta(seconds=max(seconds, 0.01)))
        except RuntimeError:
            return False
        return True

    def _arrived(self, phase: str, members: list[int]) -> list[int]:
        return [rank for rank in members if self.store.check([f"at/{phase}/{rank}"])]

    def _rest_has_gone(self, phase: str, members: list[int]) -> bool:
        if self.store.add("gone", 0) == 0:
            return False
        here = set(self._arrived(phase, members))
        return all(self.store.check([f"gone/{rank}"]) for rank in members if rank not in here)


def roster_of(store: dist.Store, world: int) -> list[str]:
    """Host of each rank, "" of those that did not come. For the collector: a message or two a rank."""
    keys = [f"host/{rank}" for rank in range(world)]
    return [store.get(key).decode() if store.check([key]) else "" for key in keys]


def publish(store: dist.Store, rank: int, document: dict[str, Any], *, last: bool) -> None:
    """The document as it is now: pieces first, then their number, so that no reader sees half of it."""
    data = zlib.compress(json.dumps(document).encode())
    turn = store.add(f"turn/{rank}", 1)
    pieces = [data[i : i + PIECE] for i in range(0, len(data), PIECE)]
    for i, piece in enumerate(pieces):
        store.set(f"report/{rank}/{turn}/{i}", piece)
    store.set(f"report/{rank}", f"{turn} {len(pieces)}")
    if last:
        store.add("lasts", 1)


def published(store: dist.Store, rank: int) -> dict[str, Any] | None:
    """What a rank published last; None: nothing."""
    if not store.check([f"report/{rank}"]):
        return None
    turn, count = map(int, store.get(f"report/{rank}").split())
    data = b"".join(store.get(f"report/{rank}/{turn}/{i}") for i in range(count))
    document: dict[str, Any] = json.loads(zlib.decompress(data))
    return document
