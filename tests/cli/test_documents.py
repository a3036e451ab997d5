# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Output of documents, also for other programs: --output, --sarif, --junit, --markdown."""

import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import threading
import xml.etree.ElementTree

import jsonschema
import pytest
from gated import CLAIM
from test_cli import COULD_NOT_RUN, FAILED, PASSED, PROGRAM, SOURCE, refused, run

FALSE = "avx512,only"  # what the sound build does not deliver


def write_report(file, tmp_path, **options):
    """Writes the quickest report, about a missing artifact."""
    return run("report", tmp_path / "nothing", "--format", "json", "--output", file, **options)


def load_schema(text):
    return json.loads(text)["schema"]


# ---- --output -----------------------------------------------------------------------------------------------------


def test_writes_through_a_link_and_keeps_it(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/real.json").write_text("old")
    (tmp_path / "link").symlink_to("folder/real.json")
    write_report(tmp_path / "link", tmp_path)
    assert (tmp_path / "link").is_symlink()
    assert load_schema((tmp_path / "folder/real.json").read_text()) == "pbprobe.report/1"


def test_creates_the_target_of_a_dangling_link(tmp_path):
    (tmp_path / "link").symlink_to("new.json")
    write_report(tmp_path / "link", tmp_path)
    assert (tmp_path / "link").is_symlink()
    assert load_schema((tmp_path / "new.json").read_text()) == "pbprobe.report/1"


def test_mode_and_owner_are_kept(tmp_path):
    file = tmp_path / "report.json"
    file.write_text("old")
    file.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(file, 12345, 12345)
    before = file.stat()
    write_report(file, tmp_path)
    after = file.stat()
    assert load_schema(file.read_text()) == "pbprobe.report/1"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_writes_to_a_pipe_and_keeps_it(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_report(pipe, tmp_path)
    reader.join(timeout=30)
    assert load_schema(read[0]) == "pbprobe.report/1"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_keeps_a_device_file(tmp_path):
    null = tmp_path / "null"
    try:
        os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        null.write_text("x")
    except PermissionError:
        pytest.skip("devices cannot be made here")
    write_report(null, tmp_path)
    assert stat.S_ISCHR(null.stat().st_mode)


def test_names_a_full_device(tmp_path):
    refused(write_report("/dev/full", tmp_path), "/dev/full cannot be written: No space left on device")
    assert stat.S_ISCHR(pathlib.Path("/dev/full").stat().st_mode)


def test_names_a_missing_folder_before_the_work(sound, tmp_path):
    result = run("gate", sound, "--claim", CLAIM, "--sarif", tmp_path / "no/such/sarif")
    refused(result, "no/such/sarif cannot be written: No such file or directory")
    assert result.stdout == ""


def test_writes_to_a_process_substitution(tmp_path):
    script = f"{PROGRAM} report {tmp_path}/nothing --format json --output >(cat > {tmp_path}/got); sleep 0.5"
    subprocess.run(["bash", "-c", script], check=False, capture_output=True, timeout=60)
    assert load_schema((tmp_path / "got").read_text()) == "pbprobe.report/1"


def test_writes_a_dash_to_standard_output(tmp_path):
    assert load_schema(write_report("-", tmp_path).stdout) == "pbprobe.report/1"
    assert list(tmp_path.iterdir()) == []


def test_does_not_write_a_protected_file(tmp_path):
    file = tmp_path / "report.json"
    file.write_text("old")
    file.chmod(0o444)
    bound = (
        ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    )  # root as others are
    command = [*bound, PROGRAM, "report", tmp_path / "nothing", "--format", "json", "--output", file]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    refused(result, "cannot be written: Permission denied")
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("old", 0o444)


@pytest.mark.parametrize("budget", ["-1", "0", "1e300", "nan"])
def test_states_the_limits_of_a_budget(budget):
    result = run("report", f"--budget={budget}")
    assert result.returncode == COULD_NOT_RUN
    assert re.search(r"give seconds, from 0\.1 to 86400", result.stderr), result.stderr


def test_takes_the_width_of_the_environment(sound):
    for least, columns in ((40, 60), (101, 140)):
        text = run("gate", sound, "--claim", FALSE, env={"COLUMNS": str(columns)}).stdout
        assert least <= max(map(len, text.splitlines())) <= columns
    assert run("gate", sound, "--claim", FALSE, env={"COLUMNS": "wide"}).returncode == FAILED


# ---- --sarif, --junit, --markdown ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def documents(sound, tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents")
    named = {name: folder / name for name in ("sarif", "junit", "markdown")}
    options = [word for name, file in named.items() for word in (f"--{name}", file)]
    result = run("gate", sound, "--claim", FALSE, "--format", "json", *options)
    assert result.returncode == FAILED
    return json.loads(result.stdout), {name: file.read_text() for name, file in named.items()}


def test_writes_a_place_and_fingerprint_per_sarif_result(documents):
    report, texts = documents
    sarif = json.loads(texts["sarif"])
    schema = json.loads((SOURCE / "tests/cli/schemas/sarif.schema.json").read_text())
    jsonschema.validators.validator_for(schema)(schema).validate(sarif)
    [ran] = sarif["runs"]
    assert len(ran["results"]) >= len(report["verdict"]["findings"]) > 0
    rules = {rule["id"]: rule for rule in ran["tool"]["driver"]["rules"]}
    for result in ran["results"]:
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert len(result["partialFingerprints"]["pbprobe/v1"]) == 64
        assert rules[result["ruleId"]]["fullDescription"]["text"]
        assert result["ruleId"] in rules[result["ruleId"]]["help"]["text"]


def test_keeps_a_place_with_spaces(sound, tmp_path):
    build = tmp_path / "a build" / "of mine"
    shutil.copytree(sound, build)
    run("gate", build, "--claim", FALSE, "--sarif", tmp_path / "sarif")
    results = json.loads((tmp_path / "sarif").read_text())["runs"][0]["results"]
    places = {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in results}
    assert not [place for place in places if place.endswith(("/a", "%20build"))], places


def test_junit_is_as_jenkins_has_it(documents):
    _, texts = documents
    suites = xml.etree.ElementTree.fromstring(texts["junit"])
    assert suites.get("skipped") is None
    [suite] = suites
    cases = list(suite)
    assert int(suite.get("skipped")) == sum(case.find("skipped") is not None for case in cases)
    assert all(case.get("time") for case in cases)
    failures = [case.find("failure") for case in cases if case.find("failure") is not None]
    assert len(failures) == int(suites.get("failures")) > 0
    assert all(failure.text for failure in failures)


def test_markdown_says_what_the_report_says(documents):
    report, texts = documents
    text = texts["markdown"].replace("\\", "")
    assert text.startswith("### pbprobe: fail for torch 2.10.0\n")
    assert report["verdict"]["reason"] in text
    for finding in report["verdict"]["findings"]:
        assert f"| {finding['severity']} | {finding['id']} | {finding['what']}" in text


def test_names_of_an_artifact_are_no_markup(sound, tmp_path):
    build = tmp_path / "<b>x</b>|`y`"
    shutil.copytree(sound, build)
    (build / "torch/lib/libtorch_cpu.so").write_bytes(b"\x7fELF")
    run("gate", build, "--claim", CLAIM, "--markdown", tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert "libtorch" in page
    assert "<b>" not in page
    for row in page.splitlines():
        if row.startswith(("| fail", "| unknown")):
            assert len(re.findall(r"(?<!\\)\|", row)) == 5, row


def test_audit_writes_them_of_one_build(sound, tmp_path):
    assert run("audit", sound, "--claim", FALSE, "--sarif", tmp_path / "sarif").returncode == FAILED
    rules = {one["ruleId"] for one in json.loads((tmp_path / "sarif").read_text())["runs"][0]["results"]}
    assert "PB208" in rules
    refused(run("audit", sound, "--distributions", "--junit", tmp_path / "junit.xml"), "the verdict of one build")


def test_report_writes_them_too_and_an_unwritable_one_is_named_at_once(sound, tmp_path):
    run("report", sound, "--budget", "2", "--junit", tmp_path / "junit.xml", "--sarif", tmp_path / "sarif")
    xml.etree.ElementTree.parse(tmp_path / "junit.xml")
    assert json.loads((tmp_path / "sarif").read_text())["version"] == "2.1.0"
    refused(run("gate", sound, "--claim", CLAIM, "--sarif", tmp_path), "is a folder: name a file")


# ---- explain ------------------------------------------------------------------------------------------------------


def test_explains_every_check_of_the_documents():
    catalogue = (SOURCE / "docs/checks.md").read_text()
    rows = {row.split(" | ")[0][2:]: row for row in catalogue.splitlines() if row.startswith("| PB")}
    explained = {one["id"]: one for one in json.loads(run("explain", "--format", "json").stdout)}
    assert explained.keys() == rows.keys()
    for name, row in rows.items():
        assert explained[name]["asks"] in row
        assert explained[name]["fix"] in row


def test_explains_a_check_in_any_case():
    text = run("explain", "pb101").stdout
    assert text.startswith("PB101  ")
    assert re.search(r"^  waive +not possible", text, re.MULTILINE)
    waived = run("explain", "PB303").stdout
    assert '"id": "PB303"' in waived
    assert run("explain", "PB303").returncode == PASSED
    refused(run("explain", "PB999"), "no check PB999")


# ---- schemas ------------------------------------------------------------------------------------------------------

SCHEMAS = sorted((SOURCE / "docs").glob("*.schema.json"))


@pytest.mark.parametrize("file", SCHEMAS, ids=lambda file: file.name.split(".")[0])
def test_documents_are_valid(file, written):
    document = json.loads((written / file.name.replace(".schema", "")).read_text())
    jsonschema.Draft202012Validator(json.loads(file.read_text())).validate(document)


@pytest.mark.parametrize("name", ["report", "claims", "policy", "node"])
def test_refuses_a_newer_major_by_name(name, written, sound, tmp_path):
    """A document of /2 states something that this program cannot know."""
    newer = (written / f"{name}.json").read_text().replace(f"pbprobe.{name}/1", f"pbprobe.{name}/2")
    (tmp_path / f"{name}.json").write_text(newer)
    given = {
        "report": ("report", tmp_path / "report.json"),
        "claims": ("gate", sound, "--claim-file", tmp_path / "claims.json"),
        "policy": ("gate", sound, "--claim", "avx2", "--policy", tmp_path / "policy.json"),
        "node": ("merge", tmp_path),
    }[name]
    result = run(*given)
    if name == "report":  # is written whatever could not be read, with the verdict unknown
        assert result.stdout.startswith("UNKNOWN")
        assert "its schema is pbprobe.report/2" in " ".join(result.stdout.split())
    else:
        refused(result, f"pbprobe.{name}/2")
