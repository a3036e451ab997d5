# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT

import pytest

import pbprobe
from pbprobe import _report


@pytest.fixture(scope="module")
def report(torch):
    return pbprobe.report(torch, budget=1, show=False)


def test_prints_what_it_returns(torch, capsys):
    result = pbprobe.report(torch, budget=1)
    printed = capsys.readouterr().out
    assert printed == str(result)
    assert " ".join(result.reason.split()) in " ".join(printed.split())  # the page wraps its lines


def test_verdict_and_findings_are_those_of_the_document(report):
    document = report.to_dict()
    assert document["schema"] == "pbprobe.report/1"
    assert report.verdict == document["verdict"]["outcome"]
    assert report.verdict in {"pass", "fail", "unknown"}
    assert report.fix == document["verdict"]["fix"]
    assert [(f.id, f.severity, f.where) for f in report.findings] == [
        (f["id"], f["severity"], f["where"]) for f in document["verdict"]["findings"]
    ]
    assert report.problems == document["problems"]


def test_to_dict_is_a_copy(report):
    report.to_dict()["verdict"]["outcome"] = "changed"
    assert report.verdict != "changed"


def test_json_is_judged_again_to_the_same_verdict(report, tmp_path):
    file = tmp_path / "report.json"
    file.write_text(report.to_json())
    again = pbprobe.report(file, show=False)
    assert again.verdict == report.verdict
    assert again.findings == report.findings


def test_reads_the_version_of_the_artifact(report, torch):
    version = (torch / "version.py").read_text()
    assert repr(report.to_dict()["inventory"]["torch_version"]) in version


def test_default_is_the_torch_of_this_interpreter_and_stays_outside(python, torch):
    code = """
import sys, pathlib, pbprobe
result = pbprobe.report(show=False)
maps = pathlib.Path("/proc/self/maps").read_text()
print(result.to_dict()["inventory"]["artifact"])
print("torch" in sys.modules, "libtorch" in maps, "libcuda" in maps)
"""
    run = python("-c", code, see=[torch.parent])
    assert run.stderr == ""
    assert run.stdout.splitlines() == [str(torch), "False False False"]


@pytest.mark.parametrize("claim", [None, "avx2"])
def test_caches_what_it_read_unless_a_claim_is_judged(python, sound, tmp_path, claim):
    code = "import sys, pbprobe; pbprobe.report(sys.argv[1], claim=sys.argv[2] or None, budget=1, show=False)"
    run = python("-c", code, sound, claim or "", env={"XDG_CACHE_HOME": str(tmp_path)})
    assert run.stderr == ""
    assert (tmp_path / "pbprobe/files").is_dir() == (claim is None)


def test_names_the_remedy_for_a_missing_torch(python, bare_python):
    code = """
import pbprobe
try:
    pbprobe.report(budget=1, show=False)
except pbprobe.Error as error:
    print(error)
"""
    run = python("-c", code, executable=bare_python)
    assert run.stderr == ""
    assert "no torch" in run.stdout
    assert str(bare_python.parent.parent) in run.stdout


def test_raises_for_a_missing_path(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"):
        pbprobe.report(tmp_path / "absent", show=False)


def test_raises_for_an_unreadable_file(tmp_path):
    (tmp_path / "torch.whl").write_text("no wheel")
    with pytest.raises(pbprobe.Error, match=r"torch\.whl"):
        pbprobe.report(tmp_path / "torch.whl", show=False)


def test_folder_called_torch_is_no_torch(python, bare_python, tmp_path):
    (tmp_path / "torch").mkdir()
    code = "import pbprobe; pbprobe.report(budget=1, show=False)"
    run = python("-c", code, executable=bare_python, see=[tmp_path])
    assert run.stderr.splitlines()[-1].startswith("pbprobe._errors.Error: no torch")


@pytest.mark.parametrize("budget", [0, -1, float("nan")])
def test_budget_must_be_positive(budget):
    with pytest.raises(ValueError, match="above 0"):
        pbprobe.report(budget=budget)


def test_render_names_the_wrong_key():
    with pytest.raises(ValueError, match="created"):
        _report.render('{"schema": "pbprobe.report/1", "version": "", "commit": ""}', colour=False)
