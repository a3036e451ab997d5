# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""pbprobe compare: two builds of a compiler, two reports, and what is neither."""

import copy
import json
import shutil
import subprocess

import jsonschema
import pytest
from gated import CLAIM
from test_cli import FAILED, PASSED, SOURCE, refused, run

GOLDEN = json.loads((SOURCE / "tests/report/golden/h200.json").read_text())


@pytest.fixture
def reports(tmp_path):
    """Writes the recorded report, each time with these samples of all its figures."""

    def write(name, *samples, change=lambda report: None):
        report = copy.deepcopy(GOLDEN)
        for figure in report["measurements"]["rows"] + report["measurements"]["libtorch"]["figures"]:
            figure["samples_us"] = list(samples)
        change(report)
        (tmp_path / name).write_text(json.dumps(report))
        return tmp_path / name

    return write


def compared(*arguments):
    document = json.loads(run("compare", *arguments, "--format", "json").stdout)
    jsonschema.validate(document, json.loads((SOURCE / "docs/comparison.schema.json").read_text()))
    return document["comparisons"]


FAST = range(100, 108)
SLOW = range(150, 158)


def test_finds_no_difference_of_a_build_to_itself(sound):
    [comparison] = compared(sound, sound)
    assert comparison["facts"] == []
    assert run("compare", sound, sound, "--fail-on", "regressed").returncode == PASSED
    assert "no fact differs" in run("compare", sound, sound).stdout


def test_evidence_of_a_gate_is_compared_as_its_report(sound, tmp_path):
    key = tmp_path / "key"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True, capture_output=True)
    for name in ("one", "other"):
        gated = run("gate", sound, "--claim", CLAIM, "--evidence", tmp_path / name, "--sign", key)
        assert gated.returncode == PASSED, gated.stderr
    [comparison] = compared(tmp_path / "one", tmp_path / "other")
    assert comparison["facts"] == []
    assert comparison["before"] == str(tmp_path / "one")


def test_fails_for_a_missing_library_on_request(sound, tmp_path):
    shutil.copytree(sound, tmp_path / "less")
    (tmp_path / "less/torch/lib/libc10.so").unlink()
    [comparison] = compared(sound, tmp_path / "less")
    assert [fact["what"] for fact in comparison["facts"] if fact["regressed"]] == ["torch/lib/libc10.so"]
    assert run("compare", sound, tmp_path / "less").returncode == PASSED
    assert run("compare", sound, tmp_path / "less", "--fail-on", "regressed").returncode == FAILED
    assert run("compare", tmp_path / "less", sound, "--fail-on", "regressed").returncode == PASSED


def test_figures_of_reports_are_compared_each_with_the_first(reports):
    before, same, slower = reports("a", *FAST), reports("b", *FAST), reports("c", *SLOW)
    unchanged, changed = compared(before, same, slower)
    assert {figure["shift"] for figure in unchanged["figures"]} == {"not_shown"}
    assert {figure["shift"] for figure in changed["figures"]} == {"slower"}
    assert all(figure["low"] <= figure["times"] <= figure["high"] < 1 for figure in changed["figures"])
    assert run("compare", before, same, "--fail-on", "regressed").returncode == PASSED
    text = run("compare", before, slower, "--fail-on", "regressed")
    assert text.returncode == FAILED
    assert "slower" in text.stdout
    assert "no difference shown in 0 of" in text.stdout
    assert run("compare", slower, before, "--fail-on", "regressed").returncode == PASSED


def test_reports_another_driver_as_a_fact(reports):
    def update(report):
        report["host"]["driver"]["version"] = "590.1"

    [comparison] = compared(reports("a", *FAST), reports("b", *FAST, change=update))
    assert [(fact["about"], fact["regressed"]) for fact in comparison["facts"]] == [("machine", False)]
    assert "590.1 after" in comparison["facts"][0]["what"]


def test_refuses_artifacts_that_cannot_be_compared(sound, tmp_path):
    refused(run("compare", sound, tmp_path / "nothing"), "nothing")
    assert run("compare", sound).returncode == 2
