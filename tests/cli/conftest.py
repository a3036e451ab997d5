# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Fixtures of several tests of the gate."""

import json
import subprocess
import sys
import zipfile

import pytest
from gated import CLAIM, build
from test_cli import PASSED, SOURCE, run
from wheels import completed

sys.path.append(str(SOURCE / "tests/fleet"))
import nodes


@pytest.fixture(scope="session")
def sound(tmp_path_factory):
    return build(tmp_path_factory.mktemp("sound") / "site", "-mavx2", "-mfma")


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", folder / "key"], check=True)
    subprocess.run(["openssl", "pkey", "-in", folder / "key", "-pubout", "-out", folder / "pub"], check=True)
    return folder


@pytest.fixture(scope="session")
def evidence(sound, keys, tmp_path_factory):
    folder = tmp_path_factory.mktemp("evidence") / "dir"
    result = run("gate", sound, "--claim", CLAIM, "--evidence", folder, "--sign", keys / "key")
    assert result.returncode == PASSED, result.stdout + result.stderr
    return folder


@pytest.fixture(scope="session")
def wheel(sound, tmp_path_factory):
    file = tmp_path_factory.mktemp("wheel") / "torch-2.10.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(sound.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(sound))
    return completed(file)


@pytest.fixture(scope="session")
def written(evidence, sound, tmp_path_factory):
    """A folder with one document of each schema, named after the schema."""
    folder = tmp_path_factory.mktemp("written")
    code, fleet, _ = nodes.merge(folder, nodes.make_fleet(nodes=2, gpus=2))
    assert code == PASSED
    claims = {
        "schema": "pbprobe.claims/1",
        "claim": "avx2,torch=2.10.0",
        "files": [{"files": "torch/lib/*.so", "claim": "sm90,cuda=13.0"}],
        "ignore": [{"files": "bin/*", "reason": "a script"}],
    }
    texts = {
        "report": (evidence / "report.json").read_text(),
        "environment": run("audit", sound, "--distributions", "--format", "json").stdout,
        "comparison": run("compare", sound, sound, "--format", "json").stdout,
        "node": json.dumps(nodes.make_fleet(nodes=1, gpus=1)[0]),
        "fleet": json.dumps(fleet),
        "claims": json.dumps(claims),
        "policy": (SOURCE / "ci/policies/hardware.json").read_text(),
    }
    for name, text in texts.items():
        (folder / f"{name}.json").write_text(text)
    return folder
