# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The gate on builds of a real compiler, and on a real torch if one is named."""

import base64
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree

import jsonschema
import pytest
from gated import CLAIM, FILES, digest
from real_torch import audited_torch
from test_cli import COULD_NOT_RUN, FAILED, PASSED, PROGRAM, SOURCE, TORCH, needs_torch, refused, run

# ---- the decision -------------------------------------------------------------------------------------------------


def test_passes_a_true_claim_and_fails_a_false_one(sound):
    assert run("gate", sound, "--claim", CLAIM).returncode == PASSED
    for claim, check in [("avx512,only", "PB208"), ("avx,only", "PB207"), ("avx2,only,torch=2.9.1", "PB105")]:
        result = run("gate", sound, "--claim", claim)
        assert result.returncode == FAILED
        assert f"fail[{check}]: " in result.stdout, result.stdout
        assert "and the files of the build do not contain it" in result.stdout, result.stdout


@pytest.mark.parametrize("level", ["loaded", "executed", "measured"])
def test_does_not_pass_an_unproved_claim(sound, level):
    result = run("gate", sound, "--claim", CLAIM, "--require", level, "--budget", "1", "--baseline", sound)
    assert result.returncode == FAILED, result.stdout
    assert f"must be {level}" in result.stdout


def test_times_kernels_only_if_a_speed_is_required(sound):
    def list_rows(level):
        command = ["gate", sound, "--claim", CLAIM, "--require", level, "--budget", "2", "--baseline", sound]
        return json.loads(run(*command, "--format", "json").stdout)["measurements"]["rows"]

    assert list_rows("executed") == []
    assert list_rows("measured")


def test_explain_tells_each_check(sound):
    text = run("gate", sound, "--claim", CLAIM, "--explain").stdout
    document = json.loads(run("gate", sound, "--claim", CLAIM, "--format", "json").stdout)
    catalogue = re.findall(r"^\| (PB[1-5]\d\d) \| \w+ \| \w+ \| .* \|", (SOURCE / "docs/checks.md").read_text(), re.M)
    asked = {check["id"] for check in document["verdict"]["checks"]}
    assert len(asked) > 50
    assert asked <= set(catalogue)
    for check in asked:
        assert check in text


def test_writes_a_valid_report(sound):
    document = json.loads(run("gate", sound, "--claim", CLAIM, "--format", "json").stdout)
    schema = json.loads((SOURCE / "docs/report.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    assert document["verdict"]["outcome"] == "pass"


def test_does_not_pass_a_truncated_file(sound, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(sound, broken)
    library = broken / "torch/lib/libextra.so"
    library.write_bytes((sound / "torch/lib/libc10.so").read_bytes()[:3000])
    result = run("gate", broken, "--claim", CLAIM)
    assert result.returncode == FAILED
    assert "libextra.so" in result.stdout


def test_bad_usage_is_2_with_one_line(sound, tmp_path):
    refused(run("gate", sound), "--claim")
    refused(run("gate", "--claim", CLAIM), "ARTIFACT")
    refused(run("gate", sound, "--claim", "sm999"), "sm999")
    refused(run("gate", tmp_path / "absent", "--claim", CLAIM), "absent")
    refused(run("gate", sound, "--claim", CLAIM, "--require", "proved"), "proved", "measured")
    refused(run("gate", sound, "--claim", CLAIM, "--policy", "lenient"), "lenient", "builder")
    refused(run("gate", sound, "--claim", CLAIM, "--policy", "report"), "lenient", "strict")
    refused(run("gate", sound, "--claim", CLAIM, "--evidence", sound), "evidence needs a new folder")
    refused(run("gate", "--from", tmp_path / "absent"), "absent")
    other = tmp_path / "other.json"
    other.write_text('{"schema": "pbprobe.report/2"}')
    refused(run("gate", other, "--claim", CLAIM), "pbprobe.report/2")


def test_does_not_change_the_artifact(sound):
    def state():
        return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in sound.rglob("*")}

    before = state()
    run("gate", sound, "--claim", CLAIM, "--require", "executed", "--budget", "1")
    assert state() == before


# ---- policies -----------------------------------------------------------------------------------------------------


def policy(folder: pathlib.Path, **changes) -> pathlib.Path:
    document = json.loads((SOURCE / "ci/policies/builder.json").read_text())
    file = folder / "policy.json"
    file.write_text(json.dumps({**document, **changes}))
    return file


@pytest.mark.parametrize("name", ["report", "builder", "hardware"])
def test_committed_policies_are_valid(name):
    schema = json.loads((SOURCE / "docs/policy.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    document = json.loads((SOURCE / f"ci/policies/{name}.json").read_text())
    validator.validate(document)
    for key in document:
        assert list(validator.iter_errors({k: v for k, v in document.items() if k != key})), key
        assert list(validator.iter_errors({**document, key: 7.5})), key
    assert list(validator.iter_errors({**document, "waives": []}))


def test_waivers_are_printed_and_their_faults_fail(sound, tmp_path):
    claim = "avx512,only,torch=2.10.0"
    found = json.loads(run("gate", sound, "--claim", claim, "--format", "json").stdout)["verdict"]["objections"]
    waivers = [
        {"id": one["id"], "component": one["where"], "reason": "a toy", "until": "2999-12-31"}
        for one in found
        if one["id"].startswith("PB")
    ]
    assert waivers
    result = run("gate", sound, "--claim", claim, "--policy", policy(tmp_path, waive=waivers))
    assert result.returncode == PASSED, result.stdout
    assert "until 2999-12-31 (used): a toy" in result.stdout
    for change, word in [
        ({"until": "2020-01-01"}, "ended on 2020-01-01"),
        ({"component": "torch/lib/no.so"}, "lets nothing"),
    ]:
        changed = [{**waivers[0], **change}, *waivers[1:]]
        result = run("gate", sound, "--claim", claim, "--policy", policy(tmp_path, waive=changed))
        assert result.returncode == FAILED
        assert word in result.stdout
    unused = [{"id": "PB101", "component": "torch/lib/libc10.so", "reason": "none", "until": "2999-12-31"}]
    assert run("gate", sound, "--claim", CLAIM, "--policy", policy(tmp_path, waive=unused)).returncode == FAILED
    refused(run("gate", sound, "--claim", CLAIM, "--policy", policy(tmp_path, waives=[])), "waives")


def test_does_not_waive_a_truncated_torch_file(sound, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(sound, broken)
    library = broken / "torch/lib/libtorch_cuda.so"
    library.write_bytes((sound / "torch/lib/libc10.so").read_bytes()[:3000])
    waiver = {"id": "PB101", "component": "torch/lib/libtorch_cuda.so", "reason": "known", "until": "2999-12-31"}
    result = run("gate", broken, "--claim", CLAIM, "--policy", policy(tmp_path, waive=[waiver]))
    assert result.returncode == FAILED
    text = " ".join(result.stdout.split())
    assert "waiver of PB101 in torch/lib/libtorch_cuda.so is void" in text
    assert "the file is truncated" in text
    lowered = {"PB101": {"severity": "note", "reason": "known"}}
    refused(run("gate", sound, "--claim", CLAIM, "--policy", policy(tmp_path, severity=lowered)), "severity.PB101")


def test_prefers_a_built_in_policy_to_a_file(sound, tmp_path):
    waiver = {"id": "PB105", "component": "torch/version.py", "reason": "known", "until": "2999-12-31"}
    mine = policy(tmp_path, waive=[waiver])
    mine.rename(tmp_path / "builder")
    claim = ["gate", sound, "--claim", "avx2,only,torch=2.9.1", "--policy"]
    result = run(*claim, "builder", cwd=tmp_path)
    assert (result.returncode, "PB105" in result.stdout) == (FAILED, True)
    assert run(*claim, "./builder", cwd=tmp_path).returncode == PASSED
    (tmp_path / "builder").rename(tmp_path / "mine")
    refused(run(*claim, "mine", cwd=tmp_path), "no policy", "./mine")
    (tmp_path / "mine").rename(tmp_path / "mine.json")
    assert run(*claim, "mine.json", cwd=tmp_path).returncode == PASSED
    refused(run(*claim, "other.json", cwd=tmp_path), "cannot open other.json")
    (tmp_path / "link.json").symlink_to("gone.json")
    refused(run(*claim, "link.json", cwd=tmp_path), "link.json is a link to gone.json, which is missing")


def test_rejects_a_duplicate_key(sound, tmp_path):
    file = policy(tmp_path)
    assert run("gate", sound, "--claim", CLAIM, "--policy", file).returncode == PASSED
    file.write_text(file.read_text().replace('"waive": []', '"waive": [], "waive": []'))
    refused(run("gate", sound, "--claim", CLAIM, "--policy", file), "waive", "twice")
    report = tmp_path / "report.json"
    report.write_text(run("gate", sound, "--claim", CLAIM, "--format", "json").stdout)
    assert run("report", report).returncode == PASSED
    report.write_text(report.read_text().replace('"torch_version"', '"torch_version": "2.11.0", "torch_version"'))
    refused(run("audit", report), "inventory.torch_version", "twice")


def test_accepts_the_claim_of_a_release_candidate(sound, tmp_path):
    candidate = tmp_path / "candidate"
    shutil.copytree(sound, candidate)
    version = candidate / "torch/version.py"
    version.write_text(version.read_text().replace("2.10.0", "2.10.0rc1"))
    for claimed, code in (("2.10.0rc1", PASSED), ("2.10.0", FAILED), ("2.10.0rc2", FAILED), ("2.10", FAILED)):
        assert run("gate", candidate, "--claim", f"avx2,only,torch={claimed}").returncode == code, claimed
    assert run("gate", sound, "--claim", "avx2,only,torch=2.10.0rc1").returncode == FAILED


def test_states_a_waived_finding_as_warning(sound, tmp_path):
    waiver = {"id": "PB105", "component": "torch/version.py", "reason": "known", "until": "2999-12-31"}
    claim = ["gate", sound, "--claim", "avx2,only,torch=2.9.1", "--policy", policy(tmp_path, waive=[waiver])]
    assert run(*claim, "--evidence", tmp_path / "dir").returncode == PASSED
    predicate = json.loads((tmp_path / "dir/statement.intoto.json").read_text())["predicate"]
    assert predicate["result"] == "WARNED"
    assert ("PB105" in predicate["warnedTests"], "PB105" in predicate["passedTests"]) == (True, False)


# ---- evidence -----------------------------------------------------------------------------------------------------


def test_evidence_is_whole_and_verifies(evidence, keys):
    assert sorted(path.name for path in evidence.iterdir()) == FILES
    assert run("verify", evidence, "--key", keys / "pub").returncode == PASSED
    assert run("gate", "--from", evidence).returncode == PASSED


def test_openssl_verifies_the_signature_too(evidence, keys, tmp_path):
    envelope = json.loads((evidence / "statement.dsse.json").read_text())
    payload = base64.b64decode(envelope["payload"], validate=True)
    assert payload == (evidence / "statement.intoto.json").read_bytes()
    kind = envelope["payloadType"].encode()
    (tmp_path / "pae").write_bytes(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload))
    (tmp_path / "sig").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"], validate=True))
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", keys / "pub", "-rawin"]
    files = ["-in", tmp_path / "pae", "-sigfile", tmp_path / "sig"]
    assert subprocess.run([*command, *files], capture_output=True, check=False).returncode == 0
    (tmp_path / "pae").write_bytes((tmp_path / "pae").read_bytes() + b" ")
    assert subprocess.run([*command, *files], capture_output=True, check=False).returncode != 0
    der = subprocess.run(
        ["openssl", "pkey", "-pubin", "-in", keys / "pub", "-outform", "DER"], capture_output=True, check=True
    ).stdout
    assert envelope["signatures"][0]["keyid"] == hashlib.sha256(der).hexdigest()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("place", [0.0, 0.1, 0.35, 0.5, 0.75, 0.9, 0.999])
def test_names_the_file_of_a_changed_byte(evidence, keys, tmp_path, name, place):
    folder = tmp_path / "dir"
    shutil.copytree(evidence, folder)
    data = bytearray((folder / name).read_bytes())
    data[min(int(place * len(data)), len(data) - 1)] ^= 1
    (folder / name).write_bytes(data)
    result = run("verify", folder, "--key", keys / "pub")
    assert result.returncode == FAILED
    assert name in result.stderr, result.stderr


def test_bytes_added_files_missing_or_more_and_another_key_are_refused(evidence, keys, tmp_path):
    def changed(change):
        folder = tmp_path / f"dir{time.monotonic_ns()}"
        shutil.copytree(evidence, folder)
        change(folder)
        return run("verify", folder, "--key", keys / "pub")

    for name in FILES:
        result = changed(lambda folder, name=name: (folder / name).write_bytes((folder / name).read_bytes() + b"\n"))
        assert (result.returncode, name in result.stderr) == (FAILED, True), result.stderr
        if name == "statement.sigstore.json":  # older evidence has none
            continue
        result = changed(lambda folder, name=name: (folder / name).unlink())
        assert (result.returncode, name in result.stderr) == (FAILED, True), result.stderr
    result = changed(lambda folder: (folder / "more.txt").write_text("more"))
    assert (result.returncode, "more.txt" in result.stderr) == (FAILED, True)
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", tmp_path / "k"], check=True)
    subprocess.run(["openssl", "pkey", "-in", tmp_path / "k", "-pubout", "-out", tmp_path / "p"], check=True)
    result = run("verify", evidence, "--key", tmp_path / "p")
    assert (result.returncode, "which is not the key in" in result.stderr) == (FAILED, True)


def test_names_every_shared_object_in_the_statement(evidence, sound):
    statement = json.loads((evidence / "statement.intoto.json").read_text())
    schema = json.loads((SOURCE / "tests/cli/schemas/statement.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(statement)
    subjects = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    libraries = {str(path.relative_to(sound)): digest(path) for path in sound.rglob("*.so")}
    assert subjects == libraries
    described = {one["name"]: one["digest"]["sha256"] for one in statement["predicate"]["configuration"]}
    for name in ("report.json", "junit.xml", "pbprobe.sarif"):
        assert described[name] == digest(evidence / name)


def test_sarif_and_junit_say_what_the_report_says(sound, keys, tmp_path):
    folder = tmp_path / "dir"
    result = run("gate", sound, "--claim", "avx512,only", "--evidence", folder, "--sign", keys / "key")
    assert result.returncode == FAILED
    report = json.loads((folder / "report.json").read_text())
    sarif = json.loads((folder / "pbprobe.sarif").read_text())
    schemas = [SOURCE / "tests/cli/schemas/sarif.schema.json"]
    if published := os.environ.get("PBPROBE_TEST_SARIF_SCHEMA"):  # OASIS's own, which is not ours to copy
        schemas.append(pathlib.Path(published))
    for schema in schemas:
        document = json.loads(schema.read_text())
        jsonschema.validators.validator_for(document)(document).validate(sarif)
    seen = sorted((one["ruleId"], one["level"]) for one in sarif["runs"][0]["results"])
    levels = {"fail": "error", "warn": "warning", "note": "note"}
    findings = report["verdict"]["findings"]
    assert seen == sorted((one["id"], levels[one["severity"]]) for one in findings)
    suites = xml.etree.ElementTree.parse(folder / "junit.xml").getroot()
    failed = {case.get("name").split()[0] for case in suites.iter("testcase") if case.find("failure") is not None}
    assert failed == {one["id"] for one in findings if one["severity"] == "fail"} | {"ISA"}
    assert int(suites.get("failures")) == len(failed)
    statement = json.loads((folder / "statement.intoto.json").read_text())
    assert statement["predicate"]["result"] == "FAILED"
    assert "PB208" in statement["predicate"]["failedTests"]
    assert run("gate", "--from", folder).returncode == FAILED  # as it was judged, and it agrees


def test_refuses_a_verdict_that_contradicts_the_facts(evidence, tmp_path):
    folder = tmp_path / "dir"
    shutil.copytree(evidence, folder)
    report = json.loads((folder / "report.json").read_text())
    report["claim"]["torch"] = "2.11.0"
    text = json.dumps(report)
    (folder / "report.json").write_text(text)
    result = run("gate", "--from", folder)
    assert (result.returncode, "report.json" in result.stderr) == (FAILED, True)
    statement = (folder / "statement.intoto.json").read_text()
    statement = statement.replace(digest(evidence / "report.json"), hashlib.sha256(text.encode()).hexdigest())
    (folder / "statement.intoto.json").write_text(statement)
    result = run("gate", "--from", folder)
    assert (result.returncode, "differs from the signed statement" in result.stderr) == (FAILED, True), result.stderr
    for file in folder.glob("statement.[ds][si]*.json"):
        file.unlink()
    result = run("gate", "--from", folder)
    assert (result.returncode, "does not follow from its facts" in result.stderr) == (FAILED, True), result.stderr


def test_does_not_attest_an_incomplete_run(sound, keys, tmp_path):
    folder = tmp_path / "dir"
    command = ["gate", sound, "--claim", CLAIM, "--require", "measured", "--budget", "1", "--baseline", sound]
    result = run(*command, "--evidence", folder, "--sign", keys / "key")
    assert result.returncode == FAILED
    assert "no evidence was written" in result.stderr
    assert list(tmp_path.iterdir()) == []


@needs_torch
def test_leaves_no_evidence_of_an_interrupted_run(keys, tmp_path):
    folder = tmp_path / "dir"
    command = [PROGRAM, "gate", TORCH, "--claim", "sm90", "--evidence", folder, "--sign", keys / "key"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=60) == -signal.SIGINT
    assert list(tmp_path.iterdir()) == []


def test_keys_that_cannot_sign_are_refused_before_the_work(sound, tmp_path):
    rsa = tmp_path / "rsa"
    subprocess.run(["openssl", "genpkey", "-algorithm", "rsa", "-out", rsa], check=True, capture_output=True)
    folder = tmp_path / "dir"
    refused(run("gate", sound, "--claim", CLAIM, "--evidence", folder, "--sign", rsa), "neither Ed25519 nor")
    refused(run("gate", sound, "--claim", CLAIM, "--evidence", folder, "--sign", tmp_path / "no"), "cannot open")
    refused(run("gate", sound, "--claim", CLAIM, "--sign", rsa), "--evidence")
    assert not folder.exists()


@pytest.mark.skipif(not shutil.which("nix-store"), reason="needs nix-store: apt install nix-bin")
def test_names_a_nix_build_with_its_nar_hash(sound, tmp_path):
    """Runs the real nix-store with its own store."""
    folders = {name: str(tmp_path / "nix" / name.lower()) for name in ("STORE", "STATE", "LOG", "CONF")}
    env = {f"NIX_{name}_DIR": folder for name, folder in folders.items()} | {"NIX_REMOTE": ""}
    source = tmp_path / "torch-2.10.0"
    shutil.copytree(sound, source)

    def nix_store(*arguments):
        command = ["nix-store", *arguments]
        return subprocess.run(
            command, env={**os.environ, **env}, capture_output=True, text=True, check=True
        ).stdout.strip()

    output = pathlib.Path(nix_store("--add", str(source)))
    nar = nix_store("-q", "--hash", str(output))
    (tmp_path / "result").symlink_to(output)
    source.rename(tmp_path / "torch-2.10.0-lib")
    library = nix_store("--add", str(tmp_path / "torch-2.10.0-lib"))
    (tmp_path / "result-lib").symlink_to(library)
    result = run("gate", tmp_path / "result", "--claim", CLAIM, "--evidence", tmp_path / "dir", env=env)
    assert result.returncode == PASSED, result.stderr
    statement = json.loads((tmp_path / "dir/statement.intoto.json").read_text())
    (subject,) = [one for one in statement["subject"] if one["name"] == str(output)]
    assert library in {one["name"] for one in statement["subject"]}
    dump = subprocess.run(["nix-store", "--dump", output], env={**os.environ, **env}, capture_output=True, check=True)
    assert subject["digest"] == {"narSha256": hashlib.sha256(dump.stdout).hexdigest()}
    assert subject["annotations"] == {"narHash": nar}
    tools = tmp_path / "bin"  # a store that knows the closure, and not the hash
    tools.mkdir()
    real = shutil.which("nix-store")
    (tools / "nix-store").write_text(f'#!/bin/sh\n[ "$2" = --hash ] && exit 1\nexec {real} "$@"\n')
    (tools / "nix-store").chmod(0o755)
    env["PATH"] = f"{tools}:{os.environ['PATH']}"
    result = run("gate", tmp_path / "result", "--claim", CLAIM, "--evidence", tmp_path / "no", env=env)
    assert (result.returncode, "NAR hash" in result.stderr) == (COULD_NOT_RUN, True)
    assert not (tmp_path / "no").exists()


# ---- the real torch -----------------------------------------------------------------------------------------------


@needs_torch
def test_judges_a_real_torch_by_true_and_false_claims():
    def failed(claim, artifact):
        result = run("gate", artifact, "--claim", claim, "--format", "json", timeout=300)
        gate = json.loads(result.stdout)["verdict"]
        assert (result.returncode == PASSED) == (gate["outcome"] == "pass")
        return {one["id"] for one in gate["objections"]} - {"claim"}

    # test_busy_gpu.py judges the files themselves by this claim.
    assert failed("cuda=13.0,sm90,avx512", audited_torch()) == set()
    assert failed("cuda=13.0,sm90,avx512,only", audited_torch()) == {"PB208", "PB316"}
    assert failed("sm121,cuda=13.0", audited_torch()) == {"PB109", "PB314"}


# ---- the README ---------------------------------------------------------------------------------------------------


def test_runs_the_gate_command_of_the_readme(sound, tmp_path):
    text = (SOURCE / "README.md").read_text()
    section = text[text.index("## Gate in CI") :].split("\n## ")[0]
    [line] = [line.strip() for line in section.splitlines() if line.startswith("    ")]
    (tmp_path / "build/bin").mkdir(parents=True)
    (tmp_path / "build/bin/pbprobe").symlink_to(PROGRAM)
    command = line.replace("site-packages", str(sound)).replace("avx2,torch=2.10.0", CLAIM)
    result = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
