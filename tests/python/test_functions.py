# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Results and errors of the functions of the package; each starts the real program."""

import html
import inspect
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import SOURCE
from gated import CLAIM

import pbprobe

H200 = SOURCE / "tests/report/golden/h200.json"


def recorded():
    return pbprobe.Report(json.loads(H200.read_text()))


def test_audit_reads_a_build_and_its_claim(sound):
    assert pbprobe.audit(sound)["torch_version"] == "2.10.0"
    wrong = pbprobe.audit(sound, claim="torch=2.9.1")
    assert wrong.verdict == "fail"
    assert [finding.id for finding in wrong.findings if finding.severity == "fail"] == ["PB105"]


@pytest.mark.parametrize("function", [pbprobe.audit, lambda path: pbprobe.gate(path, CLAIM), pbprobe.report])
def test_raises_for_a_missing_artifact(function, tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"):
        function(tmp_path / "absent")


def test_refuses_an_invalid_claim_in_the_words_of_the_program(sound):
    with pytest.raises(pbprobe.Error, match="sm999"):
        pbprobe.audit(sound, claim="sm999")
    with pytest.raises(ValueError, match="sm999"):
        pbprobe.report(sound, claim="sm999", show=False)


def test_gate_passes_what_keeps_its_claim_and_nothing_else(sound, tmp_path):
    passed = pbprobe.gate(sound, CLAIM, evidence=tmp_path / "evidence")
    passed.raise_for_verdict()
    assert passed.verdict == "pass"
    assert (tmp_path / "evidence/report.json").exists()
    failed = pbprobe.gate(sound, "torch=2.9.1")
    with pytest.raises(pbprobe.VerdictError, match=r"fail: torch 2\.9\.1 is claimed"):
        failed.raise_for_verdict()
    unknown = pbprobe.gate(sound, "avx2,blas=mkl")  # it shows no BLAS
    with pytest.raises(pbprobe.VerdictError, match="unknown"):
        unknown.raise_for_verdict()


def test_report_has_no_truth_value():
    with pytest.raises(TypeError, match="raise_for_verdict"):
        bool(recorded())


def test_does_not_ask_the_package_for_another_machine():
    report = pbprobe.report(H200, show=False)
    assert (report.verdict, report.problems) == ("pass", [])


def test_host_and_recommendation_are_the_programs(build):
    def run_program(*arguments):
        command = [build / "bin/pbprobe", *arguments, "--format", "json"]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

    assert pbprobe.host()["cpu"] == run_program("host")["cpu"]
    assert pbprobe.recommend("dev") == run_program("recipes", "recommend", "--workload", "dev")


def test_compare_holds_each_against_the_first(tmp_path):
    slower = json.loads(H200.read_text())
    for figure in slower["measurements"]["libtorch"]["figures"]:
        figure["samples_us"] = [2 * sample for sample in figure["samples_us"]]
    (tmp_path / "slower.json").write_text(json.dumps(slower))
    same = pbprobe.compare(H200, H200)
    assert not same.regressed
    comparison = pbprobe.compare(H200, H200, tmp_path / "slower.json")
    assert [Path(one["after"]).name for one in comparison.document["comparisons"]] == ["h200.json", "slower.json"]
    assert str(comparison).strip()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_returns_findings_as_a_frame(library, sound, monkeypatch):
    pytest.importorskip(library)
    for other in {"pandas", "polars"} - {library}:
        monkeypatch.setitem(sys.modules, other, None)
    report = pbprobe.audit(sound, claim="torch=2.9.1")
    frame = report.to_frame()
    assert type(frame).__module__.startswith(library)
    assert list(frame["id"]) == [finding.id for finding in report.findings]


def test_frame_needs_a_library(monkeypatch):
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(pbprobe.Error, match="pip install pandas"):
        recorded().to_frame()


def test_html_holds_the_verdict_and_is_inert_in_a_notebook():
    document = json.loads(H200.read_text())
    document["verdict"]["reason"] = "<script>alert(1)</script>"
    report = pbprobe.Report(document)
    assert "NVIDIA H200" in report.to_html()
    assert "<script>alert" not in report.to_html()
    shown = report._repr_html_()
    assert shown.startswith("<iframe sandbox ")
    assert html.escape(report.to_html()) in shown
    assert shown.count("<") == 2


def test_everything_public_has_a_signature_and_a_docstring():
    for name in pbprobe.__all__:
        thing = getattr(pbprobe, name)
        if not callable(thing):
            continue
        assert inspect.getdoc(thing), name
        assert isinstance(thing, type) or inspect.signature(thing)


def processes_of_session(leader):
    """Processes that a command started, in whichever session they are: by the tag in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if f"PBPROBE_TEST_TAG={leader}".encode() in environment and state != "Z":
            found.append(folder.name)
    return found


INTERRUPTED = """
import signal, sys, time, pbprobe
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
try:
    pbprobe.report(sys.argv[1], show=False)
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)  # the clock of all processes
"""


def interrupted(build, torch, tag):
    """Seconds from Ctrl-C, while the child measures, to KeyboardInterrupt, and until no process of it is left."""
    environment = {**os.environ, "PYTHONPATH": str(build / "python"), "PBPROBE_TEST_TAG": tag}
    command = [sys.executable, "-c", INTERRUPTED, torch]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while len(found := processes_of_session(tag)) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(found) >= 3, process.poll()
    asked = time.monotonic()
    process.send_signal(signal.SIGINT)
    shown, _ = process.communicate(timeout=30)
    while (left := processes_of_session(tag)) and time.monotonic() < asked + 10:
        time.sleep(0.02)
    assert left == []
    return (float(shown) - asked, time.monotonic() - asked) if shown else None  # it ended before the signal


def test_ctrl_c_ends_a_report_at_once_with_its_children(build, torch):
    figures = []
    for attempt in range(5):  # the best of them: others may compute here
        figure = interrupted(build, torch, f"{os.getpid()}-ctrl-c-{attempt}")
        if figure is None:
            continue
        figures.append(figure)
        print(f"Ctrl-C: {figures[-1][0]:.2f} s, all gone after {figures[-1][1]:.2f} s")
        if min(figures)[0] < 0.2:
            break
    assert min(figures)[0] < 0.2
    assert min(gone for _, gone in figures) < 0.5
