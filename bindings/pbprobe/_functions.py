# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""What the program does, as functions."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

from pbprobe._environment import PROGRAM, torch_folder
from pbprobe._errors import Error
from pbprobe._package import no_gpu_kernels
from pbprobe._program import document_of_report, output_of, program
from pbprobe._report import Comparison, Report, render

if TYPE_CHECKING:
    from typing import Literal

    from pbprobe._types import ComparisonDocument, EnvironmentDocument, Host, Inventory

    StrPath = str | os.PathLike[str]


def existing(path: StrPath) -> Path:
    """The path of something that is there. Errors: FileNotFoundError."""
    if not Path(path).exists():
        raise FileNotFoundError(f"{os.fspath(path)}: there is no such file or folder")
    return Path(path)


def in_a_notebook() -> bool:
    """Does this process run the cells of a notebook, which shows what the last line returns?"""
    kernel = sys.modules.get("ipykernel.kernelapp")
    return kernel is not None and bool(kernel.IPKernelApp.initialized())


def _with_missing_kernels(document: dict[str, Any]) -> dict[str, Any]:
    """Where this machine has a GPU and this package no kernel for one, the document says so, and how to get them."""
    gpus = (document.get("host") or {}).get("gpus") or []
    missing = no_gpu_kernels([gpu["target"] for gpu in gpus if gpu.get("target")])
    if gpus and missing:
        document.setdefault("problems", []).append(missing)
    return document


def _judged(document: dict[str, Any]) -> Report:
    """A report that has something to tell. Errors: Error."""
    if not document.get("inventory"):
        problems = document.get("problems") or ["there was nothing to judge"]
        raise Error(str(problems[0]))
    return Report(document)


def report(
    artifact: StrPath | None = None,
    *,
    claim: str | None = None,
    quick: bool = True,
    budget: float | None = None,
    show: bool | None = None,
) -> Report:
    """Judges a torch on this machine, prints the report and returns it.

    artifact: a site-packages folder, an environment, a libtorch, a wheel, or the JSON of a report; by default the torch
        of this interpreter, found without importing it.
    claim: what it is to deliver: a variant's name, or a list such as "sm90,avx512,cuda=13.0".
    quick: under 10 seconds, 20 with a GPU; False measures more, for minutes, builds a program against torch's headers,
        and (where `artifact` is None) asks in a process of its own what only Python can: torch.compile, NumPy, NVRTC.
    budget: seconds that the whole report may take.
    show: whether it is printed; by default it is, but not in a notebook, which shows what is returned.
    Errors: FileNotFoundError; ValueError for a claim that is none and a budget that is not positive; Error, where there
        is nothing to judge: no torch, an artifact that cannot be read.
    """
    if budget is not None and not budget > 0:
        raise ValueError(f"budget={budget}: give a number of seconds above 0, or None")
    chosen = torch_folder() if artifact is None else existing(artifact)
    document, could_run = document_of_report(
        artifact=chosen,
        roots=[Path(sys.prefix)],  # searched, and named, only where this interpreter has no torch
        claim=claim,
        python=[sys.executable, "-m", "pbprobe._checks"] if artifact is None else [],
        quick=quick,
        budget_seconds=budget or 0.0,
    )
    if not could_run:
        raise Error(str((document.get("problems") or ["there was nothing to judge"])[0]))
    is_record = artifact is not None and Path(artifact).suffix == ".json"  # of a machine that may be another one
    result = Report(document if is_record else _with_missing_kernels(document))
    if show or (show is None and not in_a_notebook()):
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        text, encoding = render(result.to_json(indent=None), colour=colour), sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    return result


@overload
def audit(artifact: StrPath) -> Inventory | EnvironmentDocument: ...


@overload
def audit(artifact: StrPath, *, claim: str) -> Report: ...


def audit(artifact: StrPath, *, claim: str | None = None) -> Report | Inventory | EnvironmentDocument:
    """What a build ships, read from its files: nothing of it runs.

    With a claim it is judged by that, and a Report is returned. Without one nobody asked for a verdict, and what is
    there is returned as it was found: of one build its inventory, of an environment a row of each package.
    Errors: FileNotFoundError; Error, where it cannot be read or the claim is none.
    """
    path = str(existing(artifact))
    if claim is None:
        return cast("Inventory", program("audit", path, "--format", "json"))
    return _judged(program("audit", path, "--claim", claim, "--format", "json"))


def gate(
    artifact: StrPath,
    claim: str,
    *,
    require: Literal["shipped", "loaded", "executed", "measured"] | None = None,
    policy: StrPath | None = None,
    baseline: StrPath | None = None,
    evidence: StrPath | None = None,
    key: StrPath | None = None,
) -> Report:
    """Passes only where every check that the policy requires was made and passed: unknown is not pass.

    require: up to which level this machine must prove what is claimed; "shipped" where it is None.
    policy: "builder", "hardware", or a file. baseline: a generic libtorch to be measured against.
    evidence: a new folder for report, JUnit, SARIF and statement, signed with `key`.
    Errors: FileNotFoundError; Error, where it could not run. `gate(…).raise_for_verdict()` stops a script.
    """
    arguments = ["gate", str(existing(artifact)), "--claim", claim, "--format", "json"]
    if baseline is not None:
        existing(baseline)
    given = {"require": require, "policy": policy, "baseline": baseline, "evidence": evidence, "sign": key}
    for option, value in given.items():
        arguments += [] if value is None else [f"--{option}", os.fspath(value)]
    return _judged(program(*arguments))


def host() -> Host:
    """What this machine has: CPU features, GPUs, driver."""
    return cast("Host", program("host", "--format", "json"))


def compare(before: StrPath, after: StrPath, *more: StrPath) -> Comparison:
    """What one build or report has that another has not, then which figures differ; each with the first.

    Errors: FileNotFoundError; Error, where one cannot be read.
    """
    paths = [str(existing(path)) for path in (before, after, *more)]
    document = program("compare", *paths, "--format", "json")
    _, text, _ = output_of([str(PROGRAM), "compare", *paths])
    return Comparison(cast("ComparisonDocument", document), text)


def recommend(workload: Literal["train", "infer-bf16", "infer-int8", "dev"] = "train") -> dict[str, Any]:
    """Which targeted build this machine takes, and why, as `pbprobe recommend` says it."""
    return program("recipes", "recommend", "--workload", workload, "--format", "json")
