# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Documents that releases wrote are valid, and are read with the same answers: the promise of docs/report-format.md."""

import json
import pathlib
import re
import shutil

import jsonschema
import pytest
from gated import CLAIM
from test_cli import COULD_NOT_RUN, PASSED, SOURCE, refused, run

RELEASES = sorted(path for path in (pathlib.Path(__file__).parent / "released").iterdir() if path.is_dir())
SCHEMAS = {path.name.removesuffix(".schema.json"): path for path in (SOURCE / "docs").glob("*.schema.json")}
DOCUMENTS = [document for release in RELEASES for document in sorted(release.glob("*.json"))]


def names(path):
    return f"{path.parent.name}/{path.stem}"


def schema_of(document):
    return document.name.split(".")[0]


def of(release, name):
    return release / f"{name}.json"


def test_this_release_left_one_of_each_schema():
    version = re.search(r"project\(pbprobe VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
    assert version in {release.name for release in RELEASES}, "run tests/cli/released/write, and commit what it wrote"
    for release in RELEASES:
        assert set(SCHEMAS) <= {schema_of(document) for document in release.glob("*.json")}, release.name


@pytest.mark.parametrize("document", DOCUMENTS, ids=names)
def test_it_is_valid_by_the_schema_of_today(document):
    schema = json.loads(SCHEMAS[schema_of(document)].read_text())
    jsonschema.Draft202012Validator(schema).validate(json.loads(document.read_text()))


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
@pytest.mark.parametrize("name, command", [("report", ("gate", "--claim", CLAIM)), ("report.machine", ("report",))])
def test_a_report_gives_its_verdict_again(release, name, command):
    written = json.loads(of(release, name).read_text())
    again = json.loads(run(command[0], of(release, name), *command[1:], "--format", "json").stdout)
    assert again["verdict"]["outcome"] == written["verdict"]["outcome"]
    before = {(finding["id"], finding["severity"]) for finding in written["verdict"]["findings"]}
    after = {(finding["id"], finding["severity"]) for finding in again["verdict"]["findings"]}
    assert before <= after


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_what_is_given_to_a_command_is_taken(release, sound, tmp_path):
    gated = run(
        "gate", sound, "--claim-file", of(release, "claims"), "--policy", of(release, "policy"), "--format", "json"
    )
    assert gated.returncode != COULD_NOT_RUN, gated.stderr
    assert json.loads(gated.stdout)["claim"]["files"][0]["files"] == "torch/lib/*.so"
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    shutil.copyfile(of(release, "node"), nodes / "node-0.json")
    merged = run("merge", nodes, "--baseline", of(release, "fleet"), "--format", "json")
    assert merged.returncode != COULD_NOT_RUN, merged.stderr
    compared = run("compare", of(release, "report"), of(release, "report"), "--format", "json")
    assert (compared.returncode, json.loads(compared.stdout)["comparisons"][0]["facts"]) == (PASSED, [])


@pytest.mark.parametrize("name", ["report", "claims", "policy", "node"])
def test_a_newer_major_is_refused_by_its_name(name, sound, tmp_path):
    """A document of /2 says something that this program cannot know."""
    newer = of(RELEASES[-1], name).read_text().replace(f"pbprobe.{name}/1", f"pbprobe.{name}/2")
    (tmp_path / f"{name}.json").write_text(newer)
    given = {
        "report": ("report", tmp_path / "report.json"),
        "claims": ("gate", sound, "--claim-file", tmp_path / "claims.json"),
        "policy": ("gate", sound, "--claim", "avx2", "--policy", tmp_path / "policy.json"),
        "node": ("merge", tmp_path),
    }[name]
    result = run(*given)
    if name == "report":  # which is written whatever could not be read, and says unknown
        assert result.stdout.startswith("UNKNOWN")
        assert "its schema is pbprobe.report/2" in " ".join(result.stdout.split())
    else:
        refused(result, f"pbprobe.{name}/2")
