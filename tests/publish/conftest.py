# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
import os
import shutil
import subprocess

import pytest
from world import LIBTORCH, SOUND, World


@pytest.fixture
def world(tmp_path):
    if not shutil.which("nix-store"):
        assert not os.environ.get("PBPROBE_REQUIRE_NIX"), "Nix is not installed"
        pytest.skip("Nix is not installed: apt install nix-bin")
    if not (LIBTORCH / f"lib{SOUND}.so").exists():
        pytest.skip(f"lib{SOUND}.so was not built: no compiler for it")
    yield World(tmp_path)
    # Files and folders in the Nix store are read-only.
    subprocess.run(["chmod", "-R", "u+w", tmp_path], check=False)
