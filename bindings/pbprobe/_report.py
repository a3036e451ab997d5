# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Documents that the package's functions return, as objects."""

from __future__ import annotations

import dataclasses
import html
import importlib
import importlib.util
import json
import tempfile
from typing import TYPE_CHECKING, Any, NoReturn, cast

from pbprobe._environment import PROGRAM
from pbprobe._errors import Error, VerdictError
from pbprobe._program import run_command

if TYPE_CHECKING:
    from pbprobe._types import ComparisonDocument, Level, Outcome, ReportDocument, Severity

# A module, if the package was built from source for this Python; otherwise the program, which supports every Python.
if importlib.util.find_spec("pbprobe._core") is not None:
    from pbprobe._core import render as render
else:
    from pbprobe._program import render as render


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that a check found; `id` is stable, and `pbprobe explain ID` prints its page."""

    id: str
    severity: Severity
    level: Level
    what: str
    where: str | None
    remedy: str


def make_frame(rows: list[dict[str, Any]]) -> Any:  # noqa: ANN401 - of the installed library
    """Converts rows to a DataFrame of pandas, else of polars. Errors: Error, if neither is installed."""
    for name in ("pandas", "polars"):
        try:
            library = importlib.import_module(name)
        except ImportError:
            continue
        return library.DataFrame(rows)
    raise Error("a table needs pandas or polars, and neither is installed: pip install pandas")


def render_page(document: dict[str, Any], text: str) -> str:
    """Returns the program's HTML page; its text, if the program writes no HTML."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(document, file)
        file.flush()
        command = [str(PROGRAM), "report", file.name, "--format", "html"]
        _, page, _ = run_command(command)
    return (
        page
        if page.lstrip().startswith("<")
        else f"<!doctype html><title>pbprobe</title><pre>{html.escape(text)}</pre>"
    )


class Report:
    """A report of schema pbprobe.report/1. `print(report)` prints its text; a notebook shows its HTML page.

    It has no truth value: use `report.verdict == "pass"`, or call `report.raise_for_verdict()`.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document

    @property
    def verdict(self) -> Outcome:
        """One of "pass", "fail" and "unknown". Unknown is not pass."""
        return cast("Outcome", (self._document.get("verdict") or {}).get("outcome", "unknown"))

    @property
    def reason(self) -> str:
        """The verdict's one sentence."""
        return str((self._document.get("verdict") or {}).get("reason", ""))

    @property
    def fix(self) -> str | None:
        """The first action; None if no action is needed."""
        fix = (self._document.get("verdict") or {}).get("fix")
        return None if fix is None else str(fix)

    @property
    def findings(self) -> list[Finding]:
        """The findings of the checks, worst first."""
        names = [field.name for field in dataclasses.fields(Finding)]
        rows = (self._document.get("verdict") or {}).get("findings", [])
        return [Finding(**{name: row.get(name) for name in names}) for row in rows]

    @property
    def problems(self) -> list[str]:
        """Steps that could not run, one sentence each with the way out."""
        return list(self._document.get("problems", []))

    def raise_for_verdict(self) -> None:
        """Raises VerdictError with the reason, unless the verdict is pass."""
        if self.verdict != "pass":
            raise VerdictError(f"{self.verdict}: {self.reason}" + (f": {self.fix}" if self.fix else ""))

    def to_dict(self) -> ReportDocument:
        """Returns a copy of the whole document."""
        return cast("ReportDocument", json.loads(json.dumps(self._document)))

    def to_json(self, *, indent: int | None = 2) -> str:
        """Returns the document as JSON; `pbprobe report FILE` judges it again."""
        return json.dumps(self._document, indent=indent)

    def to_frame(self) -> Any:  # noqa: ANN401 - of the installed library
        """Returns the findings as a DataFrame of pandas, else of polars. Errors: Error, if neither is installed."""
        return make_frame([dataclasses.asdict(finding) for finding in self.findings])

    def to_html(self) -> str:
        """Returns the report as one self-contained page."""
        return render_page(self._document, str(self))

    def _repr_html_(self) -> str:
        style = "width: 100%; height: 36em; border: 0"
        page = html.escape(self.to_html())
        return f'<iframe sandbox title="pbprobe: {self.verdict}" style="{style}" srcdoc="{page}"></iframe>'

    def __bool__(self) -> NoReturn:
        raise TypeError('a report has no truth value: use report.verdict == "pass", or report.raise_for_verdict()')

    def __str__(self) -> str:
        return render(self.to_json(indent=None), colour=False)

    def __repr__(self) -> str:
        return f"<pbprobe.Report: {self.verdict}, {len(self.findings)} findings>"


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Comparison of the first build with each other one, of schema pbprobe.comparison/1."""

    document: ComparisonDocument
    text: str

    @property
    def regressed(self) -> bool:
        """Is something slower, or does something run no longer?"""
        return any(
            any(fact["regressed"] for fact in one["facts"]) or any(row["shift"] == "slower" for row in one["figures"])
            for one in self.document["comparisons"]
        )

    def to_frame(self) -> Any:  # noqa: ANN401 - of whichever library is there
        """The figures that both timed, as a DataFrame of pandas, else of polars."""
        rows = [
            {"before": one["before"], "after": one["after"], **row}
            for one in self.document["comparisons"]
            for row in one["figures"]
        ]
        return make_frame(rows)

    def __str__(self) -> str:
        return self.text
