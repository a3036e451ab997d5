# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""What several tests of the gate begin with."""

import subprocess

import pytest
from gated import CLAIM, build
from test_cli import PASSED, run


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
