# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""What several tests of the gate begin with."""

import subprocess
import zipfile

import pytest
from gated import CLAIM, build
from test_cli import PASSED, run
from wheels import completed


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
