# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A planted fault: one small change to the sound build of a variant, and the one check that it wants."""

from __future__ import annotations

import dataclasses
import functools
import json
import pathlib
import subprocess
import tempfile
from collections.abc import Callable

from made import PROGRAM, SOURCE, text
from small_builds import Build, Library
from variants import Parts, asked, every_sm, get_parts, sound, target

Change = Callable[[Build, Parts], Build]
FILES_ALONE = ("--require", "shipped", "--no-emulated-run", "--no-import")


@dataclasses.dataclass(frozen=True)
class Fault:
    what: str
    variant: str  # without what all names share: "sm121-armv9"
    expected: str  # the check's id
    change: Change
    claim: str | None = None  # where it is not the variant
    beside: frozenset[str] = frozenset()  # findings below fail that the fault brings by its nature
    unknown: bool = False  # the check cannot tell, and says so

    @property
    def name(self) -> str:
        return self.variant if self.variant.startswith("pytorch") else full_name(self.variant)

    @property
    def asked(self) -> str:
        return self.claim or self.name

    def build(self) -> Build:
        return self.change(sound(self.name), get_parts(self.name))


def full_name(short: str) -> str:
    return f"pytorch-python313-{short}" if short.startswith("cpu-") else f"pytorch-python313-cuda13_0-{short}"


@dataclasses.dataclass(frozen=True)
class Answer:
    found: dict[str, str]  # what each check that found something says first
    failed: frozenset[str]  # what stands against a pass, and is known; "claim" follows from the others
    unknown: frozenset[str]
    outcome: str
    code: int


@functools.cache
def tiny_table(*, counted: bool = False) -> pathlib.Path:
    """Reference table that tiny builds reach: one kernel in one translation unit. `counted`: as many units for each SM
    as the sound builds have."""
    versions = {facts["claim"]["torch"] for facts in asked("recipes", "list", "--line", "all")["variants"]}
    one = {"units": 1, "kernels": 1, "code_bytes": 16}
    code = {"sm_90": one}
    if counted:
        code = {name.replace("sm", "sm_"): one | {"units": 2 if target(name)["siblings"] else 1} for name in every_sm()}
    rest = {"cuda": "13.0", "platform": "x86_64-linux", "build": "a tiny one", "code": code}
    builds = [{"torch": version, **rest, "parts": {}, "files": {}} for version in sorted(versions)]
    return text("reference.json", json.dumps({"schema": "pbprobe.reference_builds/1", "builds": builds}))


def gate(
    artifact: pathlib.Path, claim: str, *options: str | pathlib.Path, reference: pathlib.Path | None = None
) -> tuple[dict, int]:
    """Returns the gate's verdict on the files, and its exit code. Default table: the program's own."""
    if reference:
        options = (*options, "--reference", reference)
    command = [PROGRAM, "gate", artifact, "--claim", claim, *FILES_ALONE, *options, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{artifact.name}, {claim}: exit code {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["verdict"], done.returncode


def states(artifact: pathlib.Path, claim: str) -> dict[str, str]:
    """Returns the state of each check."""
    reported, _ = gate(artifact, claim, reference=tiny_table())
    return {check["id"]: check["state"] for check in reported["checks"]}


def gated(
    artifact: pathlib.Path, claim: str, *options: str | pathlib.Path, reference: pathlib.Path | None = None
) -> Answer:
    reported, code = gate(artifact, claim, *options, reference=reference)
    found: dict[str, str] = {}
    for row in reported["findings"]:
        found.setdefault(row["id"], row["what"])
    against = {outcome: set() for outcome in ("fail", "unknown")}
    for objection in reported["objections"]:
        against[objection["outcome"]].add(objection["id"])
    return Answer(found, frozenset(against["fail"]), frozenset(against["unknown"]), reported["outcome"], code)


def gated_sound(name: str, folder: pathlib.Path) -> Answer:
    """The sound build of a variant, by its own claim and the builder's policy; `folder` is scratch."""
    return gated(sound(name).write(folder), name, reference=tiny_table())


@functools.cache
def found_in_the_sound(name: str) -> frozenset[str]:
    """Returns findings on the sound build: they are true, and no failures."""
    with tempfile.TemporaryDirectory() as folder:
        return frozenset(gated_sound(name, pathlib.Path(folder)).found)


def make_policy(check: str) -> pathlib.Path:
    """Returns the builder's policy, in which `check` fails even if it only warns by default."""
    policy = json.loads((SOURCE / "ci/policies/builder.json").read_text())
    severity = {check: {"severity": "fail", "reason": "the fault wants it"}}
    return text("policy.json", json.dumps(policy | {"severity": severity}))


def gated_fault(fault: Fault, folder: pathlib.Path) -> Answer:
    """Only what the fault brought: what is reported of the sound build too is left out."""
    artifact = fault.build().write(folder)
    answer = gated(artifact, fault.asked, "--policy", make_policy(fault.expected), reference=tiny_table())
    before = found_in_the_sound(fault.name) - {fault.expected}
    return dataclasses.replace(answer, found={id_: what for id_, what in answer.found.items() if id_ not in before})


def why_not_caught(fault: Fault, answer: Answer) -> str:
    """Returns "" if only the fault's own check caught it, else the reason."""
    if answer.code != 1:
        return f"not caught: exit code {answer.code}"
    if fault.unknown:
        right = fault.expected in answer.unknown and not answer.found and answer.failed <= {"claim"}
        return "" if right else f"the verdict is {answer.outcome}"
    if fault.expected not in answer.found:
        return "not caught"
    others = (set(answer.found) | answer.failed) - {fault.expected, "claim"} - fault.beside
    if others:
        return f"others too: {', '.join(sorted(others))}"
    return "" if fault.expected in answer.failed | answer.unknown else "found, and let through"


def but(path: str, **changes) -> Change:
    """Another library at that path."""
    return lambda build, _: build.but({path: get_library(build, path).but(**changes)})


def get_library(build: Build, path: str) -> Library:
    library = build.libraries[path]
    if library is None:
        raise KeyError(f"{path} was left out before")
    return library


def without(*paths: str) -> Change:
    return lambda build, _: build.but(dict.fromkeys(paths))


def says(**changes) -> Change:
    """Other words in version.py or in the package's metadata."""
    return lambda build, _: build.but(**changes)
