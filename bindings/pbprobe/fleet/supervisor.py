# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Part of a rank that survives its worker, and records the worker's end. Imports no torch."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from pbprobe.fleet.document import Document, document_path, end, new_document, write_document
from pbprobe.fleet.settings import SILENCE, Settings

# Replaces torchrun's defaults, by which torch would end a sound worker with a silent peer. Here the phases have
# deadlines, and the supervisor ends a worker that hangs.
NCCL = {
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0",
    "TORCH_NCCL_ENABLE_MONITORING": "0",
    "TORCH_NCCL_DUMP_ON_TIMEOUT": "0",
    "TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING": "0",
}


def _describe_exit(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def _read_state(pid: int) -> str:
    """Returns the kernel's name of the process state: a stopped process does not compute."""
    try:
        letter = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "gone"
    return {"T": "stopped by a signal", "t": "stopped by a debugger", "D": "waits in the kernel"}.get(letter, "runs")


class Supervisor:
    """Supervisor of one worker."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.begin = time.monotonic()
        place = settings.place
        self.document: Document = new_document(
            settings.shown_host, settings.version, place.world, place.rank, place.local_rank
        )
        self.heard = False
        read, write = os.pipe()
        self.pipe = read
        # Waits of the store often end by their deadline, for which torch would print warnings.
        env = {"TORCH_CPP_LOG_LEVEL": "ERROR"} | os.environ | NCCL
        self.worker = subprocess.Popen(
            [*settings.command("worker"), str(write), repr(self.begin)], pass_fds=[write], env=env
        )
        os.close(write)

    def watch(self) -> None:
        """Waits until the worker has ended or is abandoned; then writes and publishes its final state."""
        rest = b""
        last = time.monotonic()
        while True:
            now = time.monotonic()
            # Loading torch may take longer, without a sign of progress: until then, the limit for joining applies.
            quiet = SILENCE if self.heard else max(SILENCE, self.settings.join)
            if now - last > quiet or now - self.begin > self.settings.working:
                return self._give_up(now - last)
            if not select.select([self.pipe], [], [], 1)[0]:
                continue
            data = os.read(self.pipe, 1 << 16)
            if not data:
                return self._bury(self.worker.wait())
            last = now
            *lines, rest = (rest + data).split(b"\n")
            documents = [line for line in lines if line]
            if documents:
                self.document, self.heard = json.loads(documents[-1]), True

    def _give_up(self, silent: float) -> None:
        state = _read_state(self.worker.pid)
        self.worker.kill()  # one that waits in the kernel for its GPU may ignore it: nobody waits for that
        why = f"no sign of life for {silent:.0f} s; its process {state}"
        if silent <= SILENCE:
            why = f"the rank exceeded its limit of {self.settings.working:.0f} s"
        end(self.document, "hung", why)
        self._publish()

    def _bury(self, code: int) -> None:
        if code == 0 and self.document["ranks"][0]["state"] == "finished":
            return
        end(self.document, "died", _describe_exit(code))
        self._publish()

    def _publish(self) -> None:
        problem = write_document(document_path(self.settings.folder, self.settings.place.rank), self.document)
        if problem is not None:
            self.document["ranks"][0]["errors"].append(problem)
        # Without an idle core, the import of torch may take half a minute.
        left = self.settings.gathering - (time.monotonic() - self.begin)
        try:
            subprocess.run(
                self.settings.command("publisher"),
                input=json.dumps(self.document).encode(),
                timeout=max(left, 1),
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            sys.stderr.write(
                f"pbprobe.fleet: rank {self.settings.place.rank}: the report of its end was not published: {error}\n"
            )
