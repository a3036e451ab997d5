# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Part of a rank that imports torch: runs the phases, each with a deadline, and records their results."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pbprobe.fleet.document import Document, document_path, end, new_document, write_document
from pbprobe.fleet.settings import Settings, hidden, parse

if TYPE_CHECKING:
    import torch

    from pbprobe.fleet.meeting import Meeting

Row = dict[str, Any]

# Name, and the share of the budget at which it ends; the rest is for gathering.
PHASES = {
    "identity": 0.12, "local": 0.20, "kernels": 0.28, "soak": 0.55, "links": 0.70, "collectives": 0.85, "lockstep": 0.95
}  # fmt: skip
# Shares of a budget of seconds, most of which NCCL's start (over a second) takes.
QUICK_PHASES = {"identity": 0.08, "local": 0.20, "soak": 0.40, "links": 0.66, "collectives": 0.81, "lockstep": 0.95}
Call = Callable[[float], None]
STUCK = 2.0  # seconds beyond that, after which a phase with others is given up
SLACK = 5.0  # seconds: operations end at the deadline, and their ranks are still awaited for so long, at least


class Diary:
    """The rank's document, and its ways out: a file, and the supervisor's pipe, which also has a sign of life each
    second.
    """

    def __init__(self, settings: Settings, pipe: int) -> None:
        place = settings.place
        self.document: Document = new_document(
            settings.shown_host, settings.version, place.world, place.rank, place.local_rank
        )
        self.row: dict[str, Any] = self.document["ranks"][0]
        self._file = document_path(settings.folder, place.rank)
        self._pipe, self._lock = pipe, threading.Lock()
        threading.Thread(target=self._live, daemon=True).start()

    def _live(self) -> None:
        while self._send(b"\n"):
            time.sleep(1)

    def _send(self, data: bytes) -> bool:
        try:
            with self._lock:
                while data:
                    data = data[os.write(self._pipe, data) :]
        except OSError:  # the supervisor is gone: so is the job
            os._exit(2)
        return True

    def save(self) -> None:
        """Writes the current document."""
        problem = write_document(self._file, self.document)
        if problem is not None and problem not in self.row["errors"]:
            self.row["errors"].append(problem)
        self._send(json.dumps(self.document).encode() + b"\n")


class Run:
    """One rank's way through the phases."""

    def __init__(self, settings: Settings, diary: Diary, begin: float) -> None:
        import torch  # here: signs of life have begun

        from pbprobe.fleet import meeting

        self.settings, self.diary, self.row = settings, diary, diary.row
        self.begin = begin  # of the supervisor, so that importing torch is a part of joining
        self.torch, self.meeting_module = torch, meeting
        cuda = settings.device == "cuda" or (settings.device == "auto" and torch.cuda.is_available())
        self.device = (
            torch.device("cuda", settings.place.local_rank % torch.cuda.device_count()) if cuda else torch.device("cpu")
        )
        self.meeting: meeting.Meeting | None = None
        self.slack = max(SLACK, 0.05 * settings.budget)  # on a machine that has no core to spare, too
        self.out = False  # the others went on without this rank
        diary.save()  # from here on silence means something
        self.absent: list[int] = []

    def join(self) -> None:
        """Opens the store and waits for the others, up to its own limit: the budget begins when all have joined."""
        place = self.settings.place
        until = self.begin + self.settings.join
        try:
            left = until - time.monotonic()
            store = self.meeting_module.open_store(place.address, place.port, serve=False, seconds=left)
            self.meeting_module.enter(store, place.rank, self.settings.shown_host)
            self.meeting_module.note_device(store, place.rank, self.device.type)
            self.meeting = self.meeting_module.Meeting(store, place.rank, place.world)
            self._note_absent("join", self.meeting.agree("join", until))
            self._part(self.meeting_module.without_gpu(store))
            self.diary.document["clock_offset_s"] = round(self.meeting.clock_offset(), 3)
        finally:
            self.begin = time.monotonic()

    def _part(self, without: list[int]) -> None:
        """Separates from ranks whose torch sees no GPU if others see one: NCCL would wait for them forever."""
        assert self.meeting is not None
        self.meeting.members = [rank for rank in self.meeting.members if rank not in without]
        if self.settings.place.rank in without:
            self.out = True
            self.row["errors"].append(
                "torch sees no GPU on this rank, but on other ranks: those continue without this rank"
            )

    def phase(self, name: str, share: float, call: Call, *, together: bool = False) -> None:
        """Runs a phase and records its end. A phase that other ranks break is skipped, and is not this rank's fault."""
        began = time.monotonic()
        deadline = self.begin + share * self.settings.budget
        row = {"name": name, "state": "running", "seconds": 0.0, "why": None}
        self.row["phases"].append(row)
        self._publish()
        why = self._cannot(together)
        if why is None:
            stuck = threading.Timer(deadline + self.slack + STUCK - time.monotonic(), self._end_stuck, [row])
            try:
                if together:
                    stuck.start()
                call(deadline)
                row["state"] = "done"
            except Exception as error:
                why = str(error).strip().split("\n")[0] or type(error).__name__
                row["state"] = "skipped" if together else "failed"
            finally:
                stuck.cancel()
        else:
            row["state"] = "skipped"
        absent = self._agree(name, deadline)
        row["seconds"] = time.monotonic() - began
        if why is not None and absent:
            why = f"rank {', '.join(map(str, absent))} did not answer ({why})"
        elif row["state"] == "skipped" and together and not self.absent and self.meeting is not None and not self.out:
            row["state"] = "failed" if len(self.meeting.members) > 1 else "skipped"
        row["why"] = why
        self.diary.save()

    def _end_stuck(self, row: Row) -> None:
        """Ends a stuck phase: NCCL's start waits forever for a rank that died meanwhile. Keeps earlier measurements."""
        assert self.meeting is not None
        store, members = self.meeting.store, self.meeting.members
        cause = self.meeting_module.give_up(store, self.settings.place.rank, members, row["name"])
        row["state"] = "skipped" if cause else "failed"
        late = "the phase did not end by its deadline"
        row["why"] = f"rank {', '.join(map(str, cause))} did not answer" if cause else late
        end(self.diary.document, "finished")
        self._publish(last=True)
        os._exit(0)

    def _cannot(self, together: bool) -> str | None:
        if not together:
            return None
        if self.meeting is None or self.out:
            return "this rank is separated from the other ranks"
        return "no other rank" if len(self.meeting.members) < 2 else None

    def _agree(self, name: str, deadline: float) -> list[int]:
        if self.meeting is None or self.out:
            return []
        try:
            absent = self.meeting.agree(name, max(deadline, time.monotonic()) + self.slack)
        except RuntimeError as error:
            self.lose_store(error)
            return []
        self._note_absent(name, absent)
        return absent

    def _note_absent(self, name: str, absent: list[int]) -> None:
        self.out = self.settings.place.rank in absent
        if self.out:
            self.row["errors"].append(
                f"this rank ended the phase {name} too late: the other ranks continued without it"
            )
        self.absent += absent
        self.diary.document["absent"] += [{"rank": rank, "phase": name} for rank in absent]

    def lose_store(self, error: Exception) -> None:
        """Continues with the work that needs no other rank."""
        place = self.settings.place
        reason = str(error).split("\n")[0]
        self.row["errors"].append(f"the ranks' store at {place.address}:{place.port} does not answer: {reason}")
        self.meeting = None

    def _publish(self, *, last: bool = False) -> None:
        self.diary.save()
        if self.meeting is None:
            return
        try:
            self.meeting_module.publish(self.meeting.store, self.settings.place.rank, self.diary.document, last=last)
        except RuntimeError as error:
            self.lose_store(error)

    def identity(self, deadline: float) -> None:
        """Records the hardware and software of this rank."""
        from pbprobe.fleet import identity

        self.row["facts"] = identity.cpu_facts()
        self.row["device"] = self.row["facts"].get("cpu", "CPU")
        uuid = identity.get_uuid(self.device)
        if uuid is not None:
            self.torch.cuda.set_device(self.device)
            self.row["device"] = self.torch.cuda.get_device_name(self.device)
            self.row["uuid"] = hidden(uuid) if self.settings.redact else uuid
            self.row["facts"] |= identity.gpu_facts(uuid, 5)
        self.diary.document["libraries"] = identity.libraries(deadline)

    def work(self) -> None:
        """Joins the other ranks, runs all phases, and publishes the document."""
        try:
            self.join()
        except RuntimeError as error:
            self.lose_store(error)
        from pbprobe.fleet import figures, kernels, together

        def join_group(measure: Callable[..., None], name: str) -> Call:
            def call(deadline: float) -> None:
                assert self.meeting is not None
                with together.group(self.meeting, name, self.device, deadline):
                    measure(self.row, self.meeting, self.device, deadline)

            return call

        def links(row: Row, meeting: "Meeting", device: "torch.device", deadline: float) -> None:
            roster = json.loads(meeting.store.get("roster"))  # the collector's
            rounds = together.tournament(meeting.members, roster)
            together.measure_links(row, meeting, rounds, device, deadline)

        quick = self.settings.quick
        calls: dict[str, tuple[Call, bool]] = {
            "identity": (self.identity, False),
            "local": (lambda deadline: figures.measure_copies(self.row, self.device, deadline, quick), False),
            "kernels": (lambda deadline: kernels.measure_kernels(self.row, self.device, deadline), False),
            "soak": (lambda deadline: figures.soak(self.row, self.device, deadline, self._publish, quick), False),
            "links": (join_group(links, "links"), True),
            "collectives": (join_group(together.measure_collectives, "collectives"), True),
            "lockstep": (join_group(together.measure_lockstep, "lockstep"), True),
        }
        for name, share in (QUICK_PHASES if self.settings.quick else PHASES).items():
            self.phase(name, share, calls[name][0], together=calls[name][1])
        end(self.diary.document, "finished")
        self._publish(last=True)


def main() -> None:
    """Runs `python -m pbprobe.fleet.worker SETTINGS PIPE BEGIN` for the supervisor. BEGIN: its time.monotonic()."""
    settings = parse(sys.argv[1])
    Run(settings, Diary(settings, int(sys.argv[2])), float(sys.argv[3])).work()
    os._exit(0)  # threads of a group that broke are waited for by nobody


if __name__ == "__main__":
    main()
