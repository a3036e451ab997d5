# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Checks of each planted build, and the way to run them."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable

from builds import audit
from made import SOURCE
from small_builds import Build


@dataclasses.dataclass(frozen=True)
class Row:
    """A check, part of what it says, a build with only that fault, and the sound twin that differs only in it."""

    check: str
    says: str
    planted: Callable[[], Build]
    twin: Callable[[], Build]
    claim: str | Callable[[], str]
    twin_claim: str | Callable[[], str] | None = None
    options: tuple[str, ...] = ()
    beside: frozenset[str] = frozenset()  # findings below fail that the fault brings by its nature
    beside_twin: frozenset[str] = frozenset()  # and those of the twin

    @property
    def name(self) -> str:
        return f"{self.check}-{re.sub(r'[^A-Za-z0-9]+', '-', self.says)}"


@functools.cache
def catalogue() -> dict[str, tuple[str, str]]:
    """Severity and needs of each check, from the generated list."""
    checks = {}
    for line in (SOURCE / "docs/checks.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if re.fullmatch(r"PB[1235]\d\d", cells[0]):
            checks[cells[0]] = (cells[3], cells[5])
    return checks


def read_audit_text(claim: str | Callable[[], str]) -> str:
    return claim if isinstance(claim, str) else claim()


def ask(row: Row, folder, environment: dict[str, str] | None = None) -> None:
    """The planted build has the finding and no other; its twin has none."""
    severity, _ = catalogue()[row.check]
    found, code = audit(
        row.planted().write(folder / "planted"), read_audit_text(row.claim), *row.options, environment=environment
    )
    assert row.check in found, {id_: finding["what"] for id_, finding in found.items()}
    assert row.says in found[row.check]["what"]
    assert found[row.check]["severity"] == severity
    assert found[row.check]["remedy"]
    others = {id_: finding["what"] for id_, finding in found.items() if id_ not in {row.check} | row.beside}
    assert others == {}
    assert all(found[id_]["severity"] != "fail" for id_ in row.beside)
    # An unreadable file is never a success.
    assert code == (1 if severity == "fail" or row.check in ("PB101", "PB102") else 0)

    twin_claim = row.twin_claim or row.claim
    found, code = audit(
        row.twin().write(folder / "twin"), read_audit_text(twin_claim), *row.options, environment=environment
    )
    assert {id_: finding["what"] for id_, finding in found.items() if id_ not in row.beside_twin} == {}
    assert code == 0
