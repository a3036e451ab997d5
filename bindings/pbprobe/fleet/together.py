# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Measurements by several ranks: pairs, collectives, and late ranks."""

import contextlib
import datetime
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from pbprobe.fleet.figures import figure, time_call
from pbprobe.fleet.meeting import Meeting
from pbprobe.fleet.sockets import resent_between, segments

IN_FLIGHT = 0.05  # seconds of calls that are queued at once
MOST_LARGE = 5  # large messages a link
QUEUED = 20  # calls between two events of a GPU, as nccl-tests has them: small ones would time the host
LEAST_ROUNDS, MOST_ROUNDS = 8, 400  # of lockstep: of fewer a median says nothing of who is late
MOST_ACROSS = 8  # rounds between nodes: each touches every rail of every node once
Row = dict[str, Any]
Pair = tuple[int, int]


class Operation(NamedTuple):
    """A collective: its start, the buffer of the result and the expected result, the initial contents (zeros if
    None), and the bus bandwidth factor of nccl-tests.
    """

    start: Callable[[], "dist.Work | None"]
    result: torch.Tensor
    expected: torch.Tensor
    factor: float
    first: torch.Tensor | None = None


class LateError(RuntimeError):
    """Others did not answer by the deadline."""


@contextlib.contextmanager
def group(meeting: Meeting, name: str, device: torch.device, deadline: float) -> Iterator[None]:
    """Opens a process group of the remaining members for one phase only, because a broken group is not usable."""
    # Creating the group, and each operation, may take a third of the phase. A rank that waits for a stopped rank is
    # then still in time for the end of the phase.
    left = max(deadline - time.monotonic(), 1)
    limit = datetime.timedelta(seconds=max(left / 3, min(left, 3)))
    dist.init_process_group(
        "nccl" if device.type == "cuda" else "gloo",
        store=dist.PrefixStore(name, meeting.store),
        rank=meeting.members.index(meeting.rank),
        world_size=len(meeting.members),
        timeout=limit,
        device_id=device if device.type == "cuda" else None,
    )
    try:
        yield
    except BaseException:
        if device.type == "cuda":  # else destroying it waits for the peer that never answers
            dist.distributed_c10d._abort_process_group()
        raise
    else:
        dist.destroy_process_group()
    finally:
        if dist.is_initialized():
            with contextlib.suppress(RuntimeError):
                dist.destroy_process_group()


def finish(work: dist.Work | None, device: torch.device, deadline: float) -> None:
    """Waits for an operation, and no longer than the deadline."""
    if work is None:
        return
    if device.type != "cuda":
        work.wait(datetime.timedelta(seconds=max(deadline - time.monotonic(), 0.01)))
        return
    work.wait()
    done = torch.cuda.Event()
    done.record()
    while not done.query():
        if time.monotonic() > deadline:
            raise LateError("an operation of torch.distributed did not end by the deadline")
        time.sleep(20e-6)


def circle(players: list[int]) -> list[list[Pair]]:
    """Returns the rounds of a tournament, in which each player meets each other player once."""
    field: list[int | None] = [*players, *([None] if len(players) % 2 else [])]
    rounds = []
    for _ in range(len(field) - 1):
        half = len(field) // 2
        pairs = zip(field[:half], reversed(field[half:]), strict=True)
        rounds.append([(min(a, b), max(a, b)) for a, b in pairs if a is not None and b is not None])
        field = [field[0], field[-1], *field[1:-1]]
    return rounds


def tournament(members: list[int], hosts: list[str]) -> list[list[Pair]]:
    """Returns rounds with all pairs inside a node. Between nodes, pairs ranks of equal index, which share a rail, in at
    most MOST_ACROSS rounds. hosts: host of each rank.
    """
    nodes: dict[str, list[int]] = defaultdict(list)
    for rank in members:
        nodes[hosts[rank]].append(rank)
    inside = [circle(ranks) for ranks in nodes.values() if len(ranks) > 1]
    longest = max(map(len, inside), default=0)
    rounds = [[pair for one in inside if i < len(one) for pair in one[i]] for i in range(longest)]
    names = sorted(nodes)
    for one in circle(list(range(len(names))))[:MOST_ACROSS]:
        pairs = [pair for a, b in one for pair in zip(nodes[names[a]], nodes[names[b]], strict=False)]
        rounds.append([(min(pair), max(pair)) for pair in pairs])
    return [one for one in rounds if one]


def _pattern(sender: int, count: int, device: torch.device) -> torch.Tensor:
    """Returns the data that this rank sends, different from all other ranks."""
    return ((torch.arange(count, device=device, dtype=torch.int64) * 31 + sender * 7919 + 1) % 65521).to(torch.int32)


class Wire:
    """Connection to one other rank. Both ends do the same at the same time: the lower rank is the first to send.

    On a GPU messages are queued, one behind the other, and settle() waits for the last: the host is not timed.
    """

    def __init__(self, me: int, peer: int, index: int, device: torch.device, deadline: float) -> None:
        self.me, self.peer, self.first = me, peer, me < peer
        self._index, self._device, self._deadline = index, device, deadline
        self._note = torch.zeros(1, dtype=torch.int32, device=device)
        self._last: dist.Work | None = None

    def _queue(self, work: dist.Work | None) -> None:
        self._last = work
        if self._device.type != "cuda":
            self.settle()

    def settle(self) -> None:
        """Waits for the queued operations."""
        finish(self._last, self._device, self._deadline)
        self._last = None

    def send(self, data: torch.Tensor) -> None:
        """Queues it."""
        self._queue(dist.isend(data, self._index))

    def receive(self, data: torch.Tensor) -> None:
        """Queues it."""
        self._queue(dist.irecv(data, self._index))

    def agree_to_continue(self, choice: bool) -> bool:
        """Returns the first rank's choice at both ends."""
        self._note.fill_(choice)
        (self.send if self.first else self.receive)(self._note)
        self.settle()
        return bool(self._note.item())

    def swap(self, mine: torch.Tensor, theirs: torch.Tensor, times: int = 1) -> None:
        """Sends `mine` and receives `theirs`, in turn, `times` times."""
        for send in (self.first, not self.first) * times:
            self.send(mine) if send else self.receive(theirs)
        self.settle()

    def one_way(self, mine: torch.Tensor, theirs: torch.Tensor) -> float:
        """Returns the seconds until the peer confirms that `mine` arrived. The peer times `theirs` in the same way."""

        def there() -> None:
            self.send(mine)
            self.receive(self._note)
            self.settle()

        def here() -> None:
            self.receive(theirs)
            self.send(self._note)
            self.settle()

        if not self.first:
            here()
        seconds = time_call(there, self._device)
        if self.first:
            here()
        return seconds


def _measure_link(wire: Wire, device: torch.device, patience: float) -> Row:
    """Measures a link. The first rank chooses the number of large messages, so that a link at a tenth of its speed is
    measured without delaying the round.
    """

    def messages(elements: int) -> tuple[torch.Tensor, torch.Tensor]:
        mine = _pattern(wire.me, elements, device)
        return mine, torch.empty_like(mine)

    cuda = device.type == "cuda"
    small, large = messages(2), messages((1 << 24) if cuda else (1 << 18))
    wire.swap(*small)  # connects
    times = QUEUED if cuda else 1
    latency = statistics.median(
        time_call(lambda: wire.swap(*small, times), device) / (2 * times) for _ in range(5 if cuda else 20)
    )
    before = segments()
    wire.one_way(*large)
    taken: list[float] = []
    begin = time.monotonic()
    while True:
        taken.append(wire.one_way(*large))
        if not wire.agree_to_continue(len(taken) < MOST_LARGE and time.monotonic() - begin < patience):
            break
    resent = resent_between(before, segments())
    wire.swap(*small)  # neither closes its end before the other has asked
    middle = statistics.median(taken)
    return {
        "peer": wire.peer,
        "gb_per_s": large[0].nbytes / max(middle - latency, middle / 2) / 1e9,
        "latency_us": latency * 1e6,
        "verified": bool(torch.equal(large[1], _pattern(wire.peer, large[1].numel(), device))),
        "resent": resent,  # None also where little went by TCP: NVLink, InfiniBand
    }


def measure_links(row: Row, meeting: Meeting, rounds: list[list[Pair]], device: torch.device, deadline: float) -> None:
    """Measures the link to the peer of each round: latency with 8 bytes, then rate and contents of a large message."""
    index = {rank: i for i, rank in enumerate(meeting.members)}
    patience = (deadline - time.monotonic()) / (2 * max(len(rounds), 1))
    for one in rounds:
        peer = next((b if a == meeting.rank else a for a, b in one if meeting.rank in (a, b)), None)
        if peer is not None:
            wire = Wire(meeting.rank, peer, index[peer], device, deadline)
            row["links"].append(_measure_link(wire, device, patience))


def _blocks(values: list[int], count: int, device: torch.device) -> torch.Tensor:
    """Returns a block for each of `values`, which is multiplied by 1 to 7: whole numbers that FP32 sums exactly."""
    ramp = torch.arange(count, device=device) % 7 + 1
    return torch.cat([value * ramp for value in values]).to(torch.float32)


def _operations(n: int, me: int, count: int, device: torch.device) -> dict[str, Operation]:
    """Returns the operations by name. count: elements of each rank's block. As in nccl-tests, the size is n blocks; for
    all_reduce, the whole buffer.
    """
    every = list(range(1, n + 1))
    whole, out = _blocks([me + 1] * n, count, device), torch.empty(n * count, device=device)
    block, part = _blocks([me + 1], count, device), torch.empty(count, device=device)
    exchanged = _blocks([(me + 1) * (peer + 1) for peer in range(n)], count, device)
    reduced = whole.clone()
    share = (n - 1) / n
    return {
        "all_reduce": Operation(
            lambda: dist.all_reduce(reduced, async_op=True),
            reduced, _blocks([sum(every)] * n, count, device), 2 * share, whole,
        ),
        "all_gather": Operation(
            lambda: dist.all_gather_into_tensor(out, block, async_op=True), out, _blocks(every, count, device), share,
        ),
        "reduce_scatter": Operation(
            lambda: dist.reduce_scatter_tensor(part, whole, async_op=True), part,
            _blocks([sum(every)], count, device), share,
        ),
        "all_to_all": Operation(
            lambda: dist.all_to_all_single(out, exchanged, async_op=True), out,
            _blocks([(me + 1) * value for value in every], count, device), share,
        ),
    }  # fmt: skip


def _seconds_of_a_call(
    start: Callable[[], "dist.Work | None"], device: torch.device, deadline: float, slowest: torch.Tensor
) -> float:
    """Returns the median time of a call; on a GPU, of calls queued back to back, as many as all ranks have time for.
    slowest: buffer for one number. Operations in place sum their own results, so that the values grow.
    """

    def queue(calls: int) -> None:
        works = [start() for _ in range(calls)]
        finish(works[-1], device, deadline)

    calls = 1
    if device.type == "cuda":
        slowest.fill_(time_call(lambda: queue(1), device))
        finish(dist.all_reduce(slowest, dist.ReduceOp.MAX, async_op=True), device, deadline)
        calls = min(max(int(IN_FLIGHT / slowest.item()), 2), QUEUED)
    return statistics.median(time_call(lambda: queue(calls), device) / calls for _ in range(5))


def measure_collectives(row: Row, meeting: Meeting, device: torch.device, deadline: float) -> None:
    """Measures each operation and size: median of the calls; every element of the first call's result is compared."""
    n, me = len(meeting.members), meeting.members.index(meeting.rank)
    sizes = (1 << 20, 1 << 24, 1 << 28) if device.type == "cuda" else (1 << 16, 1 << 20)
    over = torch.zeros(1, device=device)
    for size in sizes:
        count = max(size // 4 // n, 1)
        for name, operation in _operations(n, me, count, device).items():
            result, expected = operation.result, operation.expected
            result.copy_(operation.first) if operation.first is not None else result.zero_()
            finish(operation.start(), device, deadline)
            different = result != expected
            verified = not bool(different.any())
            at = int(different.nonzero()[0]) if not verified else 0
            got = float(result[at])
            taken = _seconds_of_a_call(operation.start, device, deadline, over)
            rate = 4 * n * count / taken / 1e9
            row["collectives"].append(
                {"operation": name, "bytes": 4 * n * count, "ranks": n, "time_us": taken * 1e6,
                 "algbw_gb_per_s": rate, "busbw_gb_per_s": rate * operation.factor, "verified": verified}
            )  # fmt: skip
            if not verified:
                who = meeting.members[at // count] if name in ("all_gather", "all_to_all") else None
                row["wrong"].append(
                    {"what": name, "how": "the exact result", "row": 0, "column": at, "expected": float(expected[at]),
                     "got": got, "by_rank": who, "count": int(different.sum())}
                )  # fmt: skip
            over.fill_(time.monotonic() > deadline - 1)
            finish(dist.all_reduce(over, dist.ReduceOp.MAX, async_op=True), device, deadline)
            if bool(over.item()):  # all stop at the same place
                return


def measure_lockstep(row: Row, meeting: Meeting, device: torch.device, deadline: float) -> None:
    """Repeats a GEMM and an all_reduce. The rank with the shortest wait came last; no clocks are compared."""
    size, calls = (4096, 8) if device.type == "cuda" else (256, 8)
    a = torch.randn(size, size, device=device).to(torch.bfloat16)
    n, me = len(meeting.members), meeting.members.index(meeting.rank)
    flag, waits, gemms, steps = torch.zeros(1, device=device), [], [], []

    def gemm() -> None:
        for _ in range(calls):
            torch.mm(a, a)

    for i in range(MOST_ROUNDS):
        begin = time.perf_counter()
        gemms.append(time_call(gemm, device) * 1e3)
        # After a late rank little time is left: uses all of it for as many rounds as possible.
        left = deadline - time.monotonic()
        flag.fill_(i == MOST_ROUNDS - 1 or left < (2 if i > LEAST_ROUNDS else 0.5))
        arrived = time.perf_counter()
        finish(dist.all_reduce(flag, dist.ReduceOp.MAX, async_op=True), device, deadline)
        over = bool(flag.item())
        waits.append((time.perf_counter() - arrived) * 1e3)
        steps.append((time.perf_counter() - begin) * 1e3)
        if over:
            break
    everybody = torch.empty(n * len(waits), device=device)
    mine = torch.tensor(waits, device=device)
    finish(dist.all_gather_into_tensor(everybody, mine, async_op=True), device, deadline)
    table = everybody.view(n, -1)[:, 1:]  # the first round has whatever came before it
    if table.shape[1] < LEAST_ROUNDS:
        row["facts"]["lockstep"] = f"{table.shape[1]} rounds in the remaining time: too few to find late ranks"
        return
    row["late_ms"] = [round(value, 3) for value in (table.max(0).values - table[me]).tolist()]
    row["figures"]["lockstep_gemm_ms"] = figure(gemms[1:], verified=None, lower_is_better=True)
    row["figures"]["lockstep_step_ms"] = figure(steps[1:], verified=None, lower_is_better=True)
