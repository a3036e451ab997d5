# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The program's commands as functions."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

from pbprobe._environment import PROGRAM, torch_folder
from pbprobe._errors import Error
from pbprobe._package import no_gpu_kernels
from pbprobe._program import make_report_document, program, run_command
from pbprobe._report import Comparison, Report, render

if TYPE_CHECKING:
    from typing import Literal

    from pbprobe._types import ComparisonDocument, EnvironmentDocument, Host, Inventory

    StrPath = str | os.PathLike[str]


def existing(path: StrPath) -> Path:
    """Returns the path of an existing file or folder. Errors: FileNotFoundError."""
    if not Path(path).exists():
        raise FileNotFoundError(f"{os.fspath(path)}: no such file or folder")
    return Path(path)


def is_notebook() -> bool:
    """Reports whether this process runs notebook cells, so that the notebook displays the result of the last line."""
    kernel = sys.modules.get("ipykernel.kernelapp")
    return kernel is not None and bool(kernel.IPKernelApp.initialized())


def _with_missing_kernels(document: dict[str, Any]) -> dict[str, Any]:
    """Adds a problem with its fix if this machine has a GPU and this package no GPU kernel."""
    gpus = (document.get("host") or {}).get("gpus") or []
    missing = no_gpu_kernels([gpu["target"] for gpu in gpus if gpu.get("target")])
    if gpus and missing:
        document.setdefault("problems", []).append(missing)
    return document


def _judged(document: dict[str, Any]) -> Report:
    """Makes a Report from a document. Errors: Error, if nothing was judged."""
    if not document.get("inventory"):
        problems = document.get("problems") or ["nothing was judged"]
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
    claim: claim of the build: a variant's name, or a list such as "sm90,avx512,cuda=13.0".
    quick: under 10 seconds, 20 with a GPU; False measures more, for minutes, builds a program against torch's headers,
        and (if `artifact` is None) tests torch.compile, NumPy and NVRTC in a separate process.
    budget: time limit of the whole report, in seconds.
    show: whether to print the report; by default True, except in a notebook, which displays the returned report.
    Without a claim, it stores what it read in the cache of `pbprobe report`, so that the next report is faster.
    Errors: FileNotFoundError; ValueError for an invalid claim or a budget that is not positive; Error, if no torch is
        found or the artifact cannot be read.
    """
    if budget is not None and not budget > 0:
        raise ValueError(f"budget={budget}: give a number of seconds above 0, or None")
    chosen = torch_folder() if artifact is None else existing(artifact)
    document, could_run = make_report_document(
        artifact=chosen,
        roots=[Path(sys.prefix)],  # searched, and named, only if this interpreter has no torch
        claim=claim,
        python=[sys.executable, "-m", "pbprobe._checks"] if artifact is None else [],
        quick=quick,
        budget_seconds=budget or 0.0,
    )
    if not could_run:
        raise Error(str((document.get("problems") or ["nothing was judged"])[0]))
    is_record = artifact is not None and Path(artifact).suffix == ".json"  # of a machine that may be another one
    result = Report(document if is_record else _with_missing_kernels(document))
    if show or (show is None and not is_notebook()):
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
    """Returns the contents of a build, read from its files. Runs no code of the build.

    With a claim, judges the build and returns a Report. Without a claim, returns the inventory of one build, or for an
    environment one row per package.
    Errors: FileNotFoundError; Error, if the build cannot be read or the claim is invalid.
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
    """Passes only if every check that the policy requires was made and passed: unknown is not pass.

    require: level up to which this machine must prove the claim; None means "shipped".
    policy: "builder", "hardware", or a file. baseline: a generic libtorch for the comparison.
    evidence: a new folder for report, JUnit, SARIF and statement, signed with `key`.
    Errors: FileNotFoundError; Error, if the gate could not run. `gate(…).raise_for_verdict()` stops a script.
    """
    arguments = ["gate", str(existing(artifact)), "--claim", claim, "--format", "json"]
    if baseline is not None:
        existing(baseline)
    given = {"require": require, "policy": policy, "baseline": baseline, "evidence": evidence, "sign": key}
    for option, value in given.items():
        arguments += [] if value is None else [f"--{option}", os.fspath(value)]
    return _judged(program(*arguments))


def host() -> Host:
    """Returns the CPU features, GPUs and driver of this machine."""
    return cast("Host", program("host", "--format", "json"))


def compare(before: StrPath, after: StrPath, *more: StrPath) -> Comparison:
    """Compares the first build or report with each other one: differing facts, then differing figures.

    Errors: FileNotFoundError; Error, if an argument cannot be read.
    """
    paths = [str(existing(path)) for path in (before, after, *more)]
    document = program("compare", *paths, "--format", "json")
    _, text, _ = run_command([str(PROGRAM), "compare", *paths])
    return Comparison(cast("ComparisonDocument", document), text)


def recommend(workload: Literal["train", "infer-bf16", "infer-int8", "dev"] = "train") -> dict[str, Any]:
    """Returns the recommended build for this machine, with the reason, as `pbprobe recommend` does."""
    return program("recipes", "recommend", "--workload", workload, "--format", "json")
