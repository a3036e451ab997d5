# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Folders that the user may not enter: their files are not reported as missing."""

import os
import subprocess

import pytest
from gated import build
from made import PROGRAM

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
COULD_NOT_RUN = 2


@pytest.fixture
def packages(tmp_path):
    """Makes a torch in a site-packages folder that any user may read."""
    folder = build(tmp_path / "site-packages")
    for above in folder.parents[:6]:
        above.chmod(above.stat().st_mode | 0o055)
    return folder


def run_without_rights(*arguments, env=None):
    """Runs the program as a user who owns no file."""
    command = [PROGRAM, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, user=65534, group=65534, env=env
    )


@pytest.mark.parametrize("closed", ["torch", "torch/lib", "."])
def test_does_not_call_an_unreadable_torch_missing(packages, closed):
    (packages / closed).chmod(0o700)
    done = run_without_rights("audit", packages)
    assert done.returncode == COULD_NOT_RUN, done.stdout + done.stderr
    assert f"cannot list {packages / closed}: Permission denied" in done.stderr


def test_finds_torch_after_a_forbidden_folder(packages, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    done = run_without_rights(
        "report", "--budget", "1", env={"VIRTUAL_ENV": str(closed), "CONDA_PREFIX": str(packages)}
    )
    assert str(closed) not in done.stdout + done.stderr
    assert "torch 2.10.0" in done.stdout
