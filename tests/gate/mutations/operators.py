# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The table of operators. Each says what it makes of the build's truth, and so which verdict is due."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence

from trees import Tree


@dataclasses.dataclass(frozen=True)
class About:
    """Facts of the build that operators may use."""

    variant: str  # or whatever is claimed of it
    machine: str
    numbers: tuple[str, ...]  # of the SMs whose machine code is claimed in each unit: "90"
    siblings: tuple[str, ...]  # "90a": without them tensor paths are lost
    features: frozenset[str]  # of the claimed CPUs
    exact: bool = True
    small: bool = True  # a tiny build: files may be compiled for it


Change = Callable[[Tree, About, random.Random], str | None]


@dataclasses.dataclass(frozen=True)
class Operator:
    verb: str
    subject: str
    change: Change
    due: frozenset[int]  # exit codes
    keeps: bool
    afresh: bool = False  # makes files anew: what was done to them before is gone

    @property
    def name(self) -> str:
        return f"{self.verb} {self.subject}"

    @property
    def what(self) -> str:
        return self.change.__name__.replace("_", " ")


OPERATORS: list[Operator] = []
FAILS = frozenset({1})
REFUSED = frozenset({1, 2})  # also as wrong usage
PASSES = frozenset({0})
ANSWERS = frozenset({0, 1, 2})  # whatever it says, it says something


def changes(verb: str, subject: str, due: frozenset[int] = FAILS) -> Callable[[Change], Change]:
    """Registers a function that breaks the claim. It returns what it did, or None if it does not apply."""

    def add(change: Change) -> Change:
        OPERATORS.append(Operator(verb, subject, change, due, keeps=False))
        return change

    return add


def keeps(verb: str, subject: str, *, afresh: bool = False) -> Callable[[Change], Change]:
    """The build delivers what it did before."""

    def add(change: Change) -> Change:
        OPERATORS.append(Operator(verb, subject, change, PASSES, keeps=True, afresh=afresh))
        return change

    return add


def chosen(rng: random.Random, of: Sequence):
    return rng.choice(of) if of else None
