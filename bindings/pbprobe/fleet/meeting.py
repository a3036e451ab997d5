# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Communication of ranks through torch.distributed's store, with bounded messages and deadlines.

Without faults, a rank sends four messages a phase (a mark, a count, one wait, one list), regardless of the number of
ranks, and three more per half second of waiting; its document goes in pieces of 64 KiB. The missing ranks are decided
once: the first rank to see the deadline writes the list of present ranks, and all others use that list.
"""

import datetime
import json
import threading
import time
import zlib
from typing import Any

import torch.distributed as dist

PIECE = 64 * 1024
SLICE = 0.5  # seconds between looks at who has gone
GIVING_UP = 1.0  # seconds in which all who are stuck say so
LIVING = 20  # seconds that a message to the store may take


def open_store(address: str, port: int, *, serve: bool, seconds: float) -> dist.Store:
    """Opens the store. Errors: RuntimeError (no server answers in time, or the port is in use)."""
    limit = datetime.timedelta(seconds=max(seconds, 1))
    made: list[dist.Store] = []
    errors: list[RuntimeError] = []

    def make() -> None:
        try:
            made.append(dist.TCPStore(address, port, None, serve, timeout=limit, wait_for_workers=False))
        except RuntimeError as error:
            errors.append(error)

    # If another program listens on the port, torch connects and waits for its answer without a limit.
    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    thread.join(limit.total_seconds() + 1)
    if errors:
        raise errors[0]
    if not made:
        raise RuntimeError("another program listens on this port: it does not answer as a store")
    made[0].set_timeout(datetime.timedelta(seconds=LIVING))
    return dist.PrefixStore("pbprobe.fleet", made[0])


class Meeting:
    """One rank's side of the agreements through the store: which ranks are still members."""

    def __init__(self, store: dist.Store, rank: int, world: int) -> None:
        self.store = store
        self.rank = rank
        self.members = list(range(world))

    def clock_offset(self) -> float:
        """Returns this clock's offset from the clock of the first caller, in seconds. All ranks call within 1 s."""
        own = time.time()
        return own - float(self.store.compare_set("clock", "", repr(own)))

    def agree(self, phase: str, deadline: float) -> list[int]:
        """Waits for the members until time.monotonic() is `deadline`. The ranks that came are the members from then on.

        Returns the missing ranks; they include this rank if it was late.
        """
        before = self.members
        self.store.append(f"at/{phase}", f"{self.rank} ")
        arrived = self.store.add(f"count/{phase}", 1)
        key = f"all/{phase}"
        decided = False
        while arrived < len(before) and not decided:
            decided = self._decided(key, min(SLICE, deadline - time.monotonic()))
            if decided:
                continue
            arrived = self.store.add(f"count/{phase}", 0)
            if time.monotonic() >= deadline or self._rest_has_gone(phase, before):
                break
        if decided:
            members = self.store.get(key)
        else:
            mine = before if arrived >= len(before) else self._arrived(phase, before)
            members = self.store.compare_set(key, "", json.dumps(mine))
        self.members = json.loads(members)
        return [rank for rank in before if rank not in set(self.members)]

    def _decided(self, key: str, seconds: float) -> bool:
        try:
            self.store.wait([key], datetime.timedelta(seconds=max(seconds, 0.01)))
        except RuntimeError:
            return False
        return True

    def _arrived(self, phase: str, members: list[int]) -> list[int]:
        here = set(map(int, self.store.get(f"at/{phase}").split()))
        return [rank for rank in members if rank in here]

    def _rest_has_gone(self, phase: str, members: list[int]) -> bool:
        if not self.store.check(["gone"]):
            return False
        accounted = set(map(int, self.store.get("gone").split())) | set(self._arrived(phase, members))
        return all(rank in accounted for rank in members)


def enter(store: dist.Store, rank: int, host: str) -> None:
    """Adds the rank and its host to the roster."""
    store.append("hosts", json.dumps([rank, host]) + "\n")


def note_device(store: dist.Store, rank: int, kind: str) -> None:
    """Tells the others whether this rank has a GPU. Call before the joining ends."""
    if kind == "cuda":
        store.set("gpus", "some")
    else:
        store.append("without", f"{rank} ")


def without_gpu(store: dist.Store) -> list[int]:
    """Returns the ranks without a GPU if other ranks have one: their communication backends are incompatible."""
    if not (store.check(["gpus"]) and store.check(["without"])):
        return []
    return sorted(map(int, store.get("without").split()))


def leave(store: dist.Store, rank: int) -> None:
    """Marks the rank as gone, so that no other rank waits for it."""
    store.append("gone", f"{rank} ")


def give_up(store: dist.Store, rank: int, members: list[int], phase: str) -> list[int]:
    """Leaves a phase in which other ranks block this one. Returns the ranks at fault: members that neither gave up nor
    reached the end of the phase.
    """
    store.append("stuck", f"{rank} ")
    leave(store, rank)
    time.sleep(GIVING_UP)
    accounted = set(map(int, store.get("stuck").split()))
    if store.check([f"at/{phase}"]):
        accounted |= set(map(int, store.get(f"at/{phase}").split()))
    return [member for member in members if member not in accounted]


def read_roster(store: dist.Store, world: int) -> list[str]:
    """Returns the host of each rank, "" for ranks that did not come."""
    roster = [""] * world
    for line in store.get("hosts").decode().splitlines():
        rank, host = json.loads(line)
        roster[rank] = host
    return roster


def publish(store: dist.Store, rank: int, document: dict[str, Any], *, last: bool) -> None:
    """Publishes the current document: pieces first, then their number, so that readers never see a part."""
    data = zlib.compress(json.dumps(document).encode())
    turn = store.add(f"turn/{rank}", 1)
    pieces = [data[i : i + PIECE] for i in range(0, len(data), PIECE)]
    for i, piece in enumerate(pieces):
        store.set(f"report/{rank}/{turn}/{i}", piece)
    store.set(f"report/{rank}", f"{turn} {len(pieces)}")
    if last:
        store.add("lasts", 1)


def published(store: dist.Store, rank: int) -> dict[str, Any] | None:
    """Returns the latest report of a rank; None if it published nothing."""
    if not store.check([f"report/{rank}"]):
        return None
    turn, count = map(int, store.get(f"report/{rank}").split())
    data = b"".join(store.get(f"report/{rank}/{turn}/{i}") for i in range(count))
    document: dict[str, Any] = json.loads(zlib.decompress(data))
    return document
