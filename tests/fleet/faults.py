#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Faults of a fleet, for real: jobs of four ranks through Gloo, one of which is at fault.

    tests/fleet/faults.py                prints a table: each fault, what was named, seconds to the verdict
    tests/fleet/faults.py --only clock   those whose name has this word

A fault is named if the verdict has its kind for its rank, in its words, and no other kind for any rank. Figures of
ranks that share cores are noise, so what is slow counts only where the fault is that.
"""

import argparse
import collections
import contextlib
import dataclasses
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable

import networks
import planted_faults
from jobs import Job, free_port

NOISE = {"slow", "late", "slow_link"}
RANKS = 4
AT_FAULT = 2
SHARE = 0.12  # of a core, for a sound rank where one is at half its speed: little, since others may need the cores


@dataclasses.dataclass
class Fault:
    """`begin` starts the job, given an ExitStack and a folder; `strike` acts on it later."""

    name: str
    words: str  # what the verdict must say: a regular expression
    kinds: dict[int, set[str]]  # that each rank must have
    begin: Callable = lambda _, folder: Job(folder, RANKS)
    strike: Callable | None = None
    judged: frozenset = frozenset()  # of NOISE: what this fault is about


def one(kind):
    return {AT_FAULT: {kind}}


def set_env(make, *arguments):
    return lambda _, folder: Job(folder, RANKS, env={AT_FAULT: make(folder, *arguments)})


def make_struck_job(phase, number):
    return lambda _, folder: Job(
        folder, RANKS, minutes=0.35, env={AT_FAULT: planted_faults.strike(folder, phase, number)}
    )


def killed(phase):
    where = "before its first phase" if phase == "join" else f"in {phase}"
    words = f"died {where}: killed by SIGKILL"
    return Fault(f"killed in {phase}", words, one("died"), make_struck_job(phase, signal.SIGKILL))


def stopped(phase):
    words = f"did not answer in {phase}: no sign of life for 1[5-9] s; its process stopped by a signal"
    return Fault(f"stopped (SIGSTOP) in {phase}", words, one("hung"), make_struck_job(phase, signal.SIGSTOP))


def fill_disk(at_fault):
    def begin(stack, folder):
        disk = folder / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
        stack.callback(subprocess.run, ["umount", disk], check=True)
        with contextlib.suppress(OSError), (disk / "full").open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        outputs = dict.fromkeys(range(RANKS) if at_fault == 0 else [at_fault], disk / "out")
        return Job(folder, RANKS, outputs=outputs)

    return begin


def take_port(stack, folder):
    taken = stack.enter_context(socket.socket())
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    return Job(folder, RANKS, join=30, port=taken.getsockname()[1])


def spoil_network(spoil):
    def begin(stack, folder):
        network = stack.enter_context(networks.Network(RANKS))
        spoil(network)
        return Job(folder, RANKS, minutes=0.5, port=free_port(), network=network)

    return begin


class Quota:
    """Cgroups with a share of a core each, until the stack ends."""

    def __init__(self, stack):
        self.stack = stack
        self.version2 = pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists()
        self.root = pathlib.Path("/sys/fs/cgroup" if self.version2 else "/sys/fs/cgroup/cpu")

    def limit(self, name, pid, share):
        group = self.root / name
        group.mkdir()
        self.stack.callback(self._remove, group)
        period = 20_000
        if self.version2:
            (group / "cpu.max").write_text(f"{int(share * period)} {period}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(period))
            (group / "cpu.cfs_quota_us").write_text(str(int(share * period)))
        (group / "cgroup.procs").write_text(str(pid))

    @staticmethod
    def _remove(group):
        for _ in range(50):  # its processes are ending
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.1)


def stop_half_the_time(job, pid):
    def run():
        with contextlib.suppress(ProcessLookupError):
            while job.ranks[0].poll() is None:
                for number in (signal.SIGSTOP, signal.SIGCONT):
                    os.kill(pid, number)
                    time.sleep(0.02)

    threading.Thread(target=run, daemon=True).start()


def begin_with_quota(stack, folder):
    job = Job(folder, RANKS, minutes=0.5)
    job.quota = Quota(stack)
    return job


def halve_speed(job):
    """From the identity phase on: at a third of a core importing torch would take the time of the joining. Where
    cgroups cannot be written, the rank at fault is stopped for half of the time.
    """
    for rank in range(RANKS):
        pid = job.await_phase(rank, "identity", later=True)
        try:
            job.quota.limit(f"pbprobe-{os.getpid()}-{rank}", pid, SHARE / 2 if rank == AT_FAULT else SHARE)
        except OSError:
            if rank == AT_FAULT:
                stop_half_the_time(job, pid)


FAULTS = [
    Fault("half speed (cgroup quota)", r"rank 2: gemm_\w+ .*% slower", one("slow"), begin_with_quota, halve_speed,
          frozenset({"slow"})),
    *map(killed, planted_faults.PHASES),
    *map(stopped, ("soak", "links", "lockstep")),
    Fault("another pbprobe version", r"node2: pbprobe 0\.0\.9; 3 others", one("different"),
          set_env(planted_faults.other_version)),
    Fault("another torch library", r"node2: libc10\.so file \w{12}; 3 others file", one("different"),
          set_env(planted_faults.other_torch)),
    Fault("a wrong bit", r"rank 2: gemm_bf16_tflops differs from .* at \[17, 5\]", one("wrong"),
          set_env(planted_faults.wrong_bit)),
    Fault("full disk", r"rank-00002\.json could not be written: No space left on device", one("error"),
          fill_disk(AT_FAULT)),
    Fault("full disk, of rank 0 too", r"No space left on device[^\n]*: what was gathered is in",
          {rank: {"error"} for rank in range(RANKS)}, fill_disk(0)),
    Fault("a port taken", r"127\.0\.0\.1:\d+ cannot be used for the store: .*: set MASTER_PORT to another port",
          {rank: {"error"} for rank in range(RANKS)}, take_port),
    Fault("a clock two hours off", r"node2: the system clock is 2 h 0 min ahead of the clocks of most nodes",
          one("different"),
          set_env(planted_faults.clock_off, 7200)),
    Fault("never came", r"rank 2: it never came", one("missing"),
          lambda _, folder: Job(folder, RANKS, join=40, never=(AT_FAULT,))),
    Fault("a link with 1 % loss", r"the link from rank 2 \(node2\) to rank 3 \(node3\) loses \d\.\d % of the sent",
          {2: {"lossy_link"}, 3: {"lossy_link"}}, spoil_network(lambda network: network.lose(2, 3, 1))),
    Fault("a link at a tenth", r"the link from rank 2 \(node2\) to rank 3 \(node3\) is \d\d % slower than the median",
          {2: {"slow_link"}, 3: {"slow_link"}}, spoil_network(lambda network: network.slow_down(2, 3, "40mbit")),
          judged=frozenset({"slow_link"})),
]  # fmt: skip


@dataclasses.dataclass
class Outcome:
    """Result of a job with a planted fault."""

    problems: list[str]
    sentence: str = ""
    since_fault: float = 0
    seconds: float = 0
    limit: float = 0


def judge(fault, fleet, by_rank, text):
    """Returns the differences from the expected result."""
    ignored = NOISE - fault.judged
    seen = {rank: kinds - ignored for rank, kinds in by_rank.items() if kinds - ignored}
    problems = []
    if seen != fault.kinds:
        problems.append(f"named were {seen}, not {fault.kinds}")
    ranks = {rank["rank"] for node in fleet["nodes"] for rank in node["ranks"]}
    if ranks != set(range(RANKS)):
        problems.append(f"ranks {ranks} have an answer")
    sentences = [finding["what"] for node in fleet["nodes"] for rank in node["ranks"] for finding in rank["findings"]]
    found = re.search(fault.words, "\n".join([text, *sentences, *(node["reason"] for node in fleet["nodes"])]))
    if found is None:
        problems.append(f"nothing says {fault.words!r}")
    return problems, found.group(0) if found else ""


def make(fault, folder):
    """A job with this fault, judged. Nothing of it is left running."""
    with contextlib.ExitStack() as stack:
        job = fault.begin(stack, folder)
        stack.callback(job.stop)
        struck = job.began
        if fault.strike is not None:
            fault.strike(job)
            struck = time.monotonic()
        code, fleet, by_rank, text = job.end()
        note = folder / "struck"
        if note.exists():
            struck = float(note.read_text())
        since = job.began + job.seconds - struck
        if fleet is None:
            return Outcome([f"no fleet.json, exit code {code}: {text}"])
        problems, sentence = judge(fault, fleet, by_rank, text)
        if code != 1:
            problems.append(f"exit code {code}")
        if job.seconds > job.limit:
            problems.append(f"{job.seconds:.0f} s, over the limit of {job.limit:.0f} s")
        return Outcome(problems, sentence, since, job.seconds, job.limit)


def find_obstacle(fault):
    """Returns why the fault cannot be planted here; None if it can."""
    if "link" in fault.name and "killed" not in fault.name and "stopped" not in fault.name:
        return networks.missing()
    if "disk" in fault.name and os.geteuid() != 0:
        return "mounting a small disk takes root"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="WORD")
    only = parser.parse_args().only
    print("| fault, of one rank in four | the verdict says | seconds from the fault | in all, of at most |")
    print("|---|---|---|---|")
    failed = collections.Counter()
    for fault in (fault for fault in FAULTS if only in fault.name):
        if reason := find_obstacle(fault):
            print(f"| {fault.name} | not tried: {reason} | | |")
            continue
        with tempfile.TemporaryDirectory(prefix="pbprobe-fault-") as scratch:
            outcome = make(fault, pathlib.Path(scratch))
        sentence = "**MISSED**: " + "; ".join(outcome.problems) if outcome.problems else outcome.sentence
        failed[bool(outcome.problems)] += 1
        seconds = f"{outcome.since_fault:.0f} | {outcome.seconds:.0f} of {outcome.limit:.0f}"
        print(f"| {fault.name} | {sentence} | {seconds} |", flush=True)
    print(f"\n{failed[False]} named, {failed[True]} missed")
    sys.exit(1 if failed[True] else 0)


if __name__ == "__main__":
    main()
