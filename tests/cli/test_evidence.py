# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Evidence is bound to keys, the bytes of the artifact, and facts from files."""

import base64
import hashlib
import json
import pathlib
import shutil
import subprocess
import zipfile

import pytest
from gated import CLAIM, digest
from test_cli import COULD_NOT_RUN, FAILED, PASSED, refused, run


def copied(folder: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    shutil.copytree(folder, target)
    return target


def other_key(folder: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", folder / "k"], check=True)
    subprocess.run(["openssl", "pkey", "-in", folder / "k", "-pubout", "-out", folder / "p"], check=True)
    return folder / "k", folder / "p"


def test_evidence_is_judged_again_only_as_it_was_signed(evidence, keys, tmp_path):
    result = run("gate", "--from", evidence, "--key", keys / "pub")
    assert (result.returncode, result.stderr) == (PASSED, "")
    result = run("gate", "--from", evidence)
    assert (result.returncode, "with the key that it contains" in result.stderr) == (PASSED, True)
    _, other = other_key(tmp_path)
    result = run("gate", "--from", evidence, "--key", other)
    assert (result.returncode, "which is not the key in" in result.stderr) == (FAILED, True)
    assert run("gate", "--from", evidence, "--key", other, "--key", keys / "pub").returncode == PASSED
    refused(run("gate", "--from", evidence, "--key", tmp_path / "no"), "the key")
    refused(run("gate", evidence, "--claim", CLAIM, "--key", other), "--from or --join")
    unsigned = copied(evidence, tmp_path / "unsigned")
    for name in ("statement.dsse.json", "statement.sigstore.json"):
        (unsigned / name).unlink()
    result = run("gate", "--from", unsigned)
    assert (result.returncode, "not signed" in result.stderr) == (PASSED, True)
    result = run("gate", "--from", unsigned, "--key", keys / "pub")
    assert (result.returncode, "is not signed" in result.stderr) == (FAILED, True)


def changed_signature(envelope):
    signature = bytearray(base64.b64decode(envelope["signatures"][0]["sig"]))
    signature[7] ^= 1
    envelope["signatures"][0]["sig"] = base64.b64encode(signature).decode()


def another_payload(envelope):
    payload = base64.b64decode(envelope["payload"])
    changed = payload.replace(b"WARNED", b"PASSED")
    assert changed != payload
    envelope["payload"] = base64.b64encode(changed).decode()


def another_id(envelope):
    envelope["signatures"][0]["keyid"] = "0" * 64


def no_key(envelope):
    del envelope["signatures"][0]["publicKey"]


def no_signature(envelope):
    envelope["signatures"] = []


BROKEN = {
    changed_signature: "does not match the payload",
    another_payload: "does not match the payload",
    another_id: "keyid",
    no_key: "publicKey: expected a string",
    no_signature: "expected exactly one",
}


@pytest.mark.parametrize("change", BROKEN, ids=lambda change: change.__name__)
def test_refuses_an_invalid_envelope_without_a_key(evidence, tmp_path, change):
    folder = copied(evidence, tmp_path / "dir")
    envelope = json.loads((folder / "statement.dsse.json").read_text())
    change(envelope)
    (folder / "statement.dsse.json").write_text(json.dumps(envelope, indent=2) + "\n")
    for command in (["gate", "--from", folder], ["gate", "--join", folder, evidence]):
        result = run(*command)
        assert (result.returncode, "statement.dsse.json" in result.stderr) == (FAILED, True), result.stderr
        assert BROKEN[change] in result.stderr


def test_gives_no_verdict_for_an_unusable_key(evidence, tmp_path):
    """Covers keys of another kind, either half, and files without a key: the evidence was not read."""
    rsa = tmp_path / "rsa"
    subprocess.run(["openssl", "genpkey", "-algorithm", "rsa", "-out", rsa], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", rsa, "-pubout", "-out", tmp_path / "rsa.pub"], check=True)
    (tmp_path / "text").write_text("no key\n")
    for key, reason in (
        ("rsa", "neither Ed25519 nor"),
        ("rsa.pub", "neither Ed25519 nor"),
        ("text", "no public key"),
    ):
        refused(run("verify", evidence, "--key", tmp_path / key), reason)
        refused(run("gate", "--from", evidence, "--key", tmp_path / key), reason)


def test_facts_that_a_document_says_are_never_attested(sound, evidence, keys, tmp_path):
    for document in (evidence / "report.json", tmp_path / "made-up.json"):
        if not document.exists():
            made_up = json.loads((evidence / "report.json").read_text())
            made_up["inventory"]["files"][0]["sha256"] = "0" * 64
            document.write_text(json.dumps(made_up))
        judged = ["gate", document, "--claim", CLAIM]
        assert run(*judged).returncode == PASSED
        assert json.loads(run(*judged, "--format", "json").stdout)["input"] == "facts"
        for sign in (["--sign", keys / "key"], []):
            result = run(*judged, "--evidence", tmp_path / "dir", *sign)
            assert (result.returncode, "are from a document" in result.stderr) == (COULD_NOT_RUN, True)
            assert not (tmp_path / "dir").exists()
    assert run("gate", sound, "--claim", CLAIM, "--evidence", tmp_path / "dir").returncode == PASSED


def test_states_claim_signer_and_time(evidence, sound):
    statement = json.loads((evidence / "statement.intoto.json").read_text())
    described = {one["name"]: one for one in statement["predicate"]["configuration"]}
    report = json.loads((evidence / "report.json").read_text())
    assert described["claim"]["annotations"] == report["claim"]
    assert described["claim"]["annotations"]["text"] == CLAIM
    origin = {"pbprobe": report["version"], "commit": report["commit"], "created": report["created"]}
    assert described["report.json"]["annotations"] == {**origin, "input": "artifact"}
    policy = json.dumps(report["verdict"]["policy"], separators=(",", ":"))
    assert described["policy builder"]["digest"]["sha256"] == hashlib.sha256(policy.encode()).hexdigest()


def test_verify_binds_evidence_to_the_bytes_of_a_folder(sound, evidence, keys, tmp_path):
    command = ["verify", evidence, "--key", keys / "pub", "--artifact"]
    assert run(*command, sound).returncode == PASSED
    assert run(*command, copied(sound, tmp_path / "same")).returncode == PASSED
    other = copied(sound, tmp_path / "other")
    library = other / "torch/lib/libc10.so"
    library.write_bytes(library.read_bytes() + b"\0")
    shutil.copy(library, other / "torch/lib/libmore.so")
    (other / "torch/lib/libtorch_cpu.so").rename(other / "torch/lib/libtorch.so")
    shutil.copy(library, other / "torch/helper")
    (other / "torch/lib/libscript.so").write_text("INPUT(-lc)\n")
    result = run(*command, other)
    assert result.returncode == FAILED
    for words in (
        "torch/lib/libc10.so differs",
        "torch/lib/libtorch_cpu.so is missing",
        "torch/lib/libmore.so was not judged",
        "torch/helper was not judged",
        "torch/lib/libscript.so was not judged",
    ):
        assert words in result.stderr
    refused(run(*command, tmp_path / "absent"), "absent")


def test_lists_a_wheel_as_first_subject(wheel, keys, tmp_path):
    result = run("gate", wheel, "--claim", CLAIM, "--evidence", tmp_path / "dir", "--sign", keys / "key")
    assert result.returncode == PASSED, result.stdout + result.stderr
    subjects = json.loads((tmp_path / "dir/statement.intoto.json").read_text())["subject"]
    assert subjects[0] == {"name": wheel.name, "digest": {"sha256": digest(wheel)}}
    assert sorted(one["name"] for one in subjects[1:]) == ["torch/lib/libc10.so", "torch/lib/libtorch_cpu.so"]
    command = ["verify", tmp_path / "dir", "--key", keys / "pub", "--artifact"]
    assert run(*command, wheel).returncode == PASSED
    other = tmp_path / wheel.name
    shutil.copy(wheel, other)
    with zipfile.ZipFile(other, "a") as archive:
        archive.writestr("torch/more.py", "")
    result = run(*command, other)
    assert (result.returncode, f"{wheel.name} differs" in result.stderr) == (FAILED, True), result.stderr
    assert "libc10.so" not in result.stderr
