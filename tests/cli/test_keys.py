# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Keys that sign evidence: encrypted keys, keys of cosign, and keys in another program."""

import json
import pathlib
import shutil
import subprocess

import pytest
from gated import CLAIM
from test_cli import FAILED, PASSED, PROGRAM, refused, run

PASSWORD = {"PBPROBE_KEY_PASSWORD": "a secret"}


def openssl(*words, **options):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, **options)


def pair(folder: pathlib.Path, *kind: str) -> tuple[pathlib.Path, pathlib.Path]:
    folder.mkdir(exist_ok=True)
    openssl("genpkey", *kind, "-out", folder / "key")
    openssl("pkey", "-in", folder / "key", "-pubout", "-out", folder / "pub")
    return folder / "key", folder / "pub"


@pytest.fixture
def p256(tmp_path):
    """Makes a key like cosign."""
    return pair(tmp_path / "p256", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")


def gate(sound, folder, key, *more, **options):
    return run("gate", sound, "--claim", CLAIM, "--evidence", folder, "--sign", key, *more, **options)


def test_opens_an_encrypted_key_by_its_passphrase(sound, keys, tmp_path):
    key = tmp_path / "encrypted"
    openssl("pkey", "-in", keys / "key", "-aes256", "-passout", "pass:a secret", "-out", key)
    result = gate(sound, tmp_path / "dir", key, env=PASSWORD)
    assert result.returncode == PASSED, result.stderr
    assert run("verify", tmp_path / "dir", "--key", keys / "pub").returncode == PASSED
    refused(gate(sound, tmp_path / "no", key), "the key is encrypted", "PBPROBE_KEY_PASSWORD")
    wrong = gate(sound, tmp_path / "no", key, env={"PBPROBE_KEY_PASSWORD": "another"})
    refused(wrong, "the passphrase is wrong in the environment variable PBPROBE_KEY_PASSWORD")
    assert not (tmp_path / "no").exists()


def test_signs_and_verifies_with_a_cosign_key(sound, p256, keys, tmp_path):
    key, public = p256
    assert gate(sound, tmp_path / "dir", key).returncode == PASSED
    assert run("verify", tmp_path / "dir", "--key", public).returncode == PASSED
    assert run("gate", "--from", tmp_path / "dir", "--key", public).returncode == PASSED
    assert run("verify", tmp_path / "dir", "--key", keys / "pub").returncode == FAILED


def test_refuses_a_key_of_another_curve(sound, tmp_path):
    key, _ = pair(tmp_path / "p384", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384")
    refused(gate(sound, tmp_path / "dir", key), "neither Ed25519 nor ECDSA P-256")


def test_names_the_remedy_for_a_private_cosign_key(sound, tmp_path):
    kind = "ENCRYPTED SIGSTORE PRIVATE KEY"
    (tmp_path / "cosign.key").write_text(f"-----BEGIN {kind}-----\neyJrZGYiOnt9fQ==\n-----END {kind}-----\n")
    refused(gate(sound, tmp_path / "dir", tmp_path / "cosign.key"), "--sign cosign.pub", "--signer COMMAND")


@pytest.mark.parametrize("form", ["bytes", "base64"])
@pytest.mark.parametrize("kind", ["ed25519", "p256"])
def test_signs_with_a_program(sound, keys, p256, tmp_path, kind, form):
    """Signs like the client of a key management service."""
    key, public = p256 if kind == "p256" else (keys / "key", keys / "pub")
    digest = " -digest sha256" if kind == "p256" else ""
    signs = f"openssl pkeyutl -sign -inkey '{key}' -rawin{digest} -in"
    if form == "base64":
        signs = f'sign() {{ {signs} "$1" | base64 -w0; echo; }}; sign'
    result = gate(sound, tmp_path / "dir", public, "--signer", signs)
    assert result.returncode == PASSED, result.stderr
    assert run("verify", tmp_path / "dir", "--key", public).returncode == PASSED


def test_leaves_no_evidence_after_a_failed_signer(sound, keys, p256, tmp_path):
    other = f"openssl pkeyutl -sign -inkey '{p256[0]}' -rawin -digest sha256 -in"
    for signer, why in ((other, "is not a signature by the key"), ("echo no token >&2; false", "no token")):
        refused(gate(sound, tmp_path / "dir", keys / "pub", "--signer", signer), why)
        assert not (tmp_path / "dir").exists()
    refused(gate(sound, tmp_path / "dir", keys / "key", "--signer", other), "public key")
    refused(run("gate", sound, "--claim", CLAIM, "--signer", "true"), "--signer")


def test_makes_the_bundle_of_the_envelope(evidence, keys, tmp_path):
    bundle = json.loads((evidence / "statement.sigstore.json").read_text())
    envelope = json.loads((evidence / "statement.dsse.json").read_text())
    assert bundle["mediaType"] == "application/vnd.dev.sigstore.bundle.v0.3+json"
    assert bundle["dsseEnvelope"]["payload"] == envelope["payload"]
    for name, change in (("kind", lambda text: text.replace("v0.3", "v0.2")), ("end", lambda text: text + " ")):
        folder = tmp_path / name
        shutil.copytree(evidence, folder)
        file = folder / "statement.sigstore.json"
        file.write_text(change(file.read_text()))
        result = run("verify", folder, "--key", keys / "pub")
        assert (result.returncode, "statement.sigstore.json: does not match" in result.stderr) == (FAILED, True)
    older = tmp_path / "older"
    shutil.copytree(evidence, older)
    (older / "statement.sigstore.json").unlink()
    assert run("verify", older, "--key", keys / "pub").returncode == PASSED


def test_redacted_evidence_names_no_home_and_is_judged_again(sound, keys, tmp_path):
    home = tmp_path / "home/ada/site"
    shutil.copytree(sound, home)
    inside = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no mount namespaces here")
    script = 'mount --bind "$1" /home && shift && exec "$@"'
    program = ["gate", "/home/ada/site", "--claim", CLAIM, "--redact", "--evidence", tmp_path / "dir"]
    words = [*inside, "sh", "-c", script, "sh", tmp_path / "home", PROGRAM, *program, "--sign", keys / "key"]
    result = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    assert result.returncode == PASSED, result.stdout + result.stderr
    for file in (tmp_path / "dir").iterdir():
        assert "/home/ada" not in file.read_text(), file
    assert "~/site" in (tmp_path / "dir/report.json").read_text()
    assert run("gate", "--from", tmp_path / "dir", "--key", keys / "pub").returncode == PASSED
