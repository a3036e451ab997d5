# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Documents for other programs, read by these programs."""

import json
import pathlib
import xml.etree.ElementTree

import pytest
from gated import CLAIM
from test_cli import FAILED, PASSED, run

FALSE = "avx512,only"


@pytest.fixture(scope="module")
def documents(sound, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clients")
    result = run("gate", sound, "--claim", FALSE, "--sarif", folder / "a.sarif", "--junit", folder / "junit.xml")
    assert result.returncode == FAILED
    return folder


def test_junitparser_counts_what_the_suite_says(documents):
    junitparser = pytest.importorskip("junitparser")
    suites = junitparser.JUnitXml.fromfile(str(documents / "junit.xml"))
    (suite,) = suites
    cases = list(suite)
    results = [type(one).__name__ for case in cases for one in case.result]
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (
        len(cases),
        *(results.count(kind) for kind in ("Failure", "Error", "Skipped")),
    )
    assert suite.failures > 0
    assert all(case.time is not None for case in cases)


@pytest.fixture(scope="module")
def jenkins():
    """The schema that Jenkins' xUnit plugin holds a file against, as pytest ships it among its tests."""
    xmlschema = pytest.importorskip("xmlschema", reason="xmlschema is not installed: make setup")
    return xmlschema.XMLSchema(str(pathlib.Path(__file__).parent / "schemas/jenkins-junit-10.xsd"))


def test_jenkins_schema_takes_every_suite(documents, sound, jenkins, tmp_path):
    assert run("gate", sound, "--claim", CLAIM, "--junit", tmp_path / "passed.xml").returncode == PASSED
    run("audit", sound, "--junit", tmp_path / "audit.xml")
    run("report", sound, "--budget", "1", "--junit", tmp_path / "report.xml")
    for file in (documents / "junit.xml", *tmp_path.glob("*.xml")):
        assert list(jenkins.iter_errors(str(file))) == [], file


@pytest.mark.parametrize(
    "change, why",
    [
        ('<testsuites skipped="1"', "skipped"),
        ('<testsuites hostname="1,5"', "hostname"),
        ("<testsuites><case/>", "case"),
    ],
)
def test_jenkins_schema_refuses_what_is_not_so(documents, jenkins, tmp_path, change, why):
    text = (documents / "junit.xml").read_text()
    (tmp_path / "changed.xml").write_text(text.replace("<testsuites", change, 1))
    assert any(why in str(error) for error in jenkins.iter_errors(str(tmp_path / "changed.xml")))


def test_gitlab_shows_what_failed(documents):
    """GitLab shows name, class, file, time and failure text of a case, and merges equal names."""
    cases = list(xml.etree.ElementTree.parse(documents / "junit.xml").iter("testcase"))
    keys = [(case.get("classname"), case.get("name")) for case in cases]
    assert len(set(keys)) == len(keys)
    failed = [case.find("failure") for case in cases if case.find("failure") is not None]
    assert failed
    assert all(one.get("message") and one.text and one.text.strip() for one in failed)
    assert all(float(case.get("time")) >= 0 for case in cases)


def test_github_takes_every_result(documents):
    """Code scanning requires more than the schema: https://docs.github.com, "SARIF support for code scanning"."""
    (ran,) = json.loads((documents / "a.sarif").read_text())["runs"]
    rules = ran["tool"]["driver"]["rules"]
    assert len(rules) <= 25_000
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert len(rule["shortDescription"]["text"]) <= 1024
        assert len(rule["fullDescription"]["text"]) <= 1024
        assert rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
    assert 0 < len(ran["results"]) <= 25_000
    for result in ran["results"]:
        assert 1 <= len(result["locations"]) <= 1000
        for location in result["locations"]:
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert uri
            assert not set(uri) & set(' <>"{}|\\^`')
        assert result["message"]["text"]
        assert result["partialFingerprints"]


def test_securesystemslib_verifies_the_envelope(evidence, keys):
    dsse = pytest.importorskip("securesystemslib.dsse")
    signer = pytest.importorskip("securesystemslib.signer")
    document = json.loads((evidence / "statement.dsse.json").read_text())
    envelope = dsse.Envelope.from_dict(json.loads(json.dumps(document)))
    (signature,) = document["signatures"]
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    public = load_pem_public_key((keys / "pub").read_bytes())
    key = signer.SSlibKey.from_crypto(public, keyid=signature["keyid"])
    assert envelope.verify([key], 1)
    envelope.payload += b" "
    with pytest.raises(Exception, match="signature"):
        envelope.verify([key], 1)
