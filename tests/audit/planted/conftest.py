# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
import shutil
import subprocess

import builds
import pytest


@pytest.fixture(scope="session", autouse=True)
def _scratch():
    yield
    subprocess.run(["chmod", "-R", "u+w", builds.scratch()], check=True)  # a Nix store is read-only
    shutil.rmtree(builds.scratch())
