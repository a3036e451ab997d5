# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Evidence of several machines, joined; and what a policy changed, recorded in the evidence."""

import json
import shutil
import subprocess

import jsonschema
import pytest
from gated import CLAIM, FILES, build, digest
from test_cli import COULD_NOT_RUN, FAILED, PASSED, SOURCE, refused, run


def test_joined_evidence_is_of_the_same_build(sound, evidence, tmp_path):
    again = tmp_path / "again"
    assert run("gate", sound, "--claim", CLAIM, "--evidence", again).returncode == PASSED
    files = [evidence / "report.json", again / "report.json"]
    assert run("gate", "--join", *files).returncode == PASSED
    result = run("gate", "--join", *files, "--require", "executed")
    assert (result.returncode, "but the joined runs prove shipped" in result.stdout) == (FAILED, True)
    other = build(tmp_path / "other", "-mavx2", "-mfma", "-DOTHER", "-O2", "-ftree-vectorize")
    assert run("gate", other, "--claim", CLAIM, "--evidence", tmp_path / "differs").returncode == PASSED
    result = run("gate", "--join", evidence / "report.json", tmp_path / "differs/report.json")
    assert (result.returncode, "not the build of the first report: " in result.stderr) == (FAILED, True), result.stderr
    refused(run("gate", "--join", evidence / "report.json"), "two machines")


@pytest.fixture(scope="module")
def joined(sound, evidence, keys, tmp_path_factory):
    """Joins two runs with two policies and two keys."""
    folder = tmp_path_factory.mktemp("joined")
    policy = json.loads((SOURCE / "ci/policies/builder.json").read_text()) | {"name": "another"}
    policy["severity"] = {"PB123": {"severity": "warn", "reason": "the builder should be known"}}
    (folder / "policy.json").write_text(json.dumps(policy))
    for command in (["genpkey", "-algorithm", "ed25519", "-out", "k"], ["pkey", "-in", "k", "-pubout", "-out", "p"]):
        subprocess.run(["openssl", *command], check=True, cwd=folder)
    again = ["gate", sound, "--claim", CLAIM, "--policy", folder / "policy.json", "--evidence", folder / "again"]
    assert run(*again, "--sign", folder / "k").returncode == PASSED
    join = ["gate", "--join", evidence, folder / "again", "--key", folder / "p"]
    result = run(*join, "--evidence", folder / "both", "--sign", keys / "key")
    assert result.returncode == PASSED, result.stdout + result.stderr
    return folder / "both"


def test_joined_evidence_is_signed_and_judged_again(joined, evidence, keys):
    assert sorted(file.name for file in joined.iterdir()) == FILES
    assert run("verify", joined, "--key", keys / "pub").returncode == PASSED
    again = run("gate", "--from", joined)
    assert (again.returncode, "2 runs together prove" in again.stdout) == (PASSED, True), again.stderr
    report = json.loads((joined / "report.json").read_text())
    schema = json.loads((SOURCE / "docs/report.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(report)
    assert [one["verdict"]["policy"]["name"] for one in report["joined"]] == ["builder", "another"]
    statement = json.loads((joined / "statement.intoto.json").read_text())
    assert statement["subject"] == json.loads((evidence / "statement.intoto.json").read_text())["subject"]
    policies = [one for one in statement["predicate"]["configuration"] if one["name"].startswith("policy ")]
    assert [one["name"] for one in policies] == ["policy builder", "policy another"]
    assert "the builder should be known" in policies[1]["annotations"]["severity"]["PB123"]["reason"]
    [origin] = [one["annotations"] for one in statement["predicate"]["configuration"] if one["name"] == "report.json"]
    assert (origin["input"], [one["input"] for one in origin["runs"]]) == ("evidence", ["artifact", "artifact"])
    keys_of = [json.loads((file / "statement.dsse.json").read_text()) for file in (evidence, joined.parent / "again")]
    assert [one["signedBy"] for one in origin["runs"]] == [one["signatures"][0]["keyid"] for one in keys_of]
    assert len(set(map(json.dumps, keys_of))) == 2


def test_join_signs_only_signed_evidence(evidence, joined, keys, tmp_path):
    unsigned = tmp_path / "unsigned"
    shutil.copytree(evidence, unsigned)
    for file in unsigned.glob("statement.[ds][si]*.json"):
        file.unlink()
    sign = ["--evidence", tmp_path / "dir", "--sign", keys / "key"]
    # Unsigned evidence can be judged, but no signer vouches for it.
    others = {
        evidence / "report.json": "a bare report has no signature",
        unsigned: "is not signed",
        joined.parent / "again": "which is not the key in",
    }
    for other, says in others.items():
        assert run("gate", "--join", evidence, other).returncode == PASSED
        result = run("gate", "--join", evidence, other, *sign)
        assert (result.returncode, says in result.stderr) == (FAILED, True), result.stderr
    assert list(tmp_path.iterdir()) == [unsigned]
    assert run("gate", "--join", evidence, evidence, *sign).returncode == PASSED


def test_join_of_unsigned_evidence_omits_the_signer(joined, evidence, keys, tmp_path):
    unsigned = tmp_path / "unsigned"
    shutil.copytree(joined, unsigned)
    for file in unsigned.glob("statement.[ds][si]*.json"):
        file.unlink()
    for other, keys_given, known in ((joined, ["--key", keys / "pub"], True), (unsigned, [], False)):
        join = ["gate", "--join", evidence, other, "--evidence", tmp_path / str(known)]
        assert run(*join, *keys_given).returncode == PASSED
        runs = json.loads((tmp_path / str(known) / "report.json").read_text())["joined"]
        assert [one["signed_by"] is not None for one in runs] == [known] * 3


def test_joined_evidence_is_joined_again(joined, evidence, tmp_path):
    result = run("gate", "--join", joined, evidence, "--evidence", tmp_path / "three")
    assert result.returncode == PASSED, result.stderr
    assert len(json.loads((tmp_path / "three/report.json").read_text())["joined"]) == 3
    assert run("gate", "--from", tmp_path / "three").returncode == PASSED


def test_does_not_attest_a_join_that_proves_too_little(evidence, joined, keys, tmp_path):
    result = run("gate", "--join", evidence, joined, "--require", "executed", "--evidence", tmp_path / "dir")
    assert (result.returncode, "no evidence was written" in result.stderr) == (FAILED, True), result.stderr
    assert list(tmp_path.iterdir()) == []
    taken = run("gate", "--join", evidence, joined, "--evidence", joined, "--sign", keys / "key")
    assert taken.returncode == COULD_NOT_RUN, "existing evidence is not overwritten"


def test_refuses_a_changed_byte_of_joined_evidence(joined, keys, tmp_path):
    for name in FILES:
        content = (joined / name).read_bytes()
        for at in (0, len(content) // 2, len(content) - 2):
            folder = tmp_path / f"{name}-{at}"
            shutil.copytree(joined, folder)
            (folder / name).write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
            result = run("verify", folder, "--key", keys / "pub")
            assert (result.returncode, name in result.stderr) == (FAILED, True), (name, at, result.stderr)


def changed(evidence, folder, change):
    """Writes matching digests, like an attacker who changes an unsigned report."""
    shutil.copytree(evidence, folder)
    report = json.loads((folder / "report.json").read_text())
    before = digest(folder / "report.json")
    change(report)
    (folder / "report.json").write_text(json.dumps(report))
    statement = (folder / "statement.intoto.json").read_text().replace(before, digest(folder / "report.json"))
    (folder / "statement.intoto.json").write_text(statement)
    for file in folder.glob("statement.[ds][si]*.json"):
        file.unlink()
    return folder


def reworded(verdict):
    """Rewords a report like an older pbprobe that lacks one of the checks."""
    verdict["reason"] = "in other words"
    for claim in verdict["claims"]:
        claim["detail"] = "in other words"
    for found in verdict["findings"]:
        found["what"] = found["remedy"] = "in other words"
    for check in verdict["checks"]:
        check["asks"] = "in other words"
    passed = next(check for check in verdict["checks"] if check["state"] == "passed")
    verdict["checks"].remove(passed)


def test_accepts_evidence_after_reworded_and_added_checks(evidence, joined, tmp_path):
    one = changed(evidence, tmp_path / "one", lambda report: reworded(report["verdict"]))
    result = run("gate", "--from", one)
    assert (result.returncode, "in other words" in result.stdout) == (PASSED, False), result.stderr
    assert run("gate", "--join", one / "report.json", joined).returncode == PASSED

    def severer(report):
        reworded(report["verdict"])
        report["verdict"]["checks"][0]["severity"] = "note"

    result = run("gate", "--from", changed(evidence, tmp_path / "two", severer))
    assert (result.returncode, "checks[0].severity differs" in result.stderr) == (FAILED, True), result.stderr


def rejoined(report):
    report["joined"].append(report["joined"][0])


def proved_more(report):
    report["verdict"]["claims"][0]["proven"] = "measured"


def one_run(report):
    del report["joined"][1]


def lenient(report):
    report["joined"][1]["verdict"]["policy"]["severity"] = {}


def other_facts(report):
    report["joined"][1]["inventory"]["torch_version"] = "2.9.1"


def other_digest(report):
    report["joined"][1]["inventory"]["files"][0]["sha256"] = "0" * 64


def other_inventory(report):
    report["inventory"]["files"][0]["sha256"] = "0" * 64


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (rejoined, "differs from the result of joining its 3 runs"),
        (proved_more, "differs from the result of joining its 2 runs"),
        (one_run, "no verdict of joined runs"),
        (lenient, "run 2: the report's verdict does not follow from its facts"),
        (other_facts, "run 2: the report's verdict does not follow from its facts"),
        (other_digest, "not the build of the first report: "),
        (other_inventory, "differs from the result of joining its 2 runs"),
    ],
)
def test_refuses_a_verdict_beyond_the_joined_runs(joined, tmp_path, change, says):
    result = run("gate", "--from", changed(joined, tmp_path / "dir", change))
    assert (result.returncode, says in result.stderr) == (FAILED, True), result.stderr


def test_explains_a_changed_severity(sound, keys, tmp_path):
    policy = json.loads((SOURCE / "ci/policies/builder.json").read_text())
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(policy | {"severity": {"PB208": {"severity": "note", "reason": "tried out"}}}))
    command = ["gate", sound, "--claim", "avx512,only", "--policy", file]
    result = run(*command, "--evidence", tmp_path / "dir", "--sign", keys / "key")
    assert "counts as note: tried out" in result.stdout
    statement = json.loads((tmp_path / "dir/statement.intoto.json").read_text())
    (known,) = [one for one in statement["predicate"]["configuration"] if one["name"].startswith("policy ")]
    assert known["annotations"]["severity"] == {"PB208": {"severity": "note", "reason": "tried out"}}
    file.write_text(json.dumps(policy | {"severity": {"PB208": "note"}}))
    refused(run(*command), "severity.PB208", "expected an object")
    file.write_text(json.dumps(policy | {"severity": {"PB208": {"severity": "note", "reason": " "}}}))
    refused(run(*command), "severity.PB208.reason", "say why")
