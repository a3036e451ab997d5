# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Real runs of the package as the build left it, on the torch that set-up found."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "tests/cli"))  # small builds of a compiler: gated.py


def pytest_collection_modifyitems(items):
    """Every test is unit unless it is marked otherwise: CTest runs them apart."""
    for item in items:
        if not any(item.get_closest_marker(part) for part in ("idle", "slow", "install", "wheel")):
            item.add_marker("unit")


@pytest.fixture(scope="session")
def build():
    """The build folder."""
    return Path(os.environ.get("PBPROBE_TEST_BUILD", SOURCE / "build"))


@pytest.fixture(scope="session")
def torch():
    """The folder of a real torch."""
    folder = os.environ.get("PBPROBE_TEST_TORCH")
    if not folder:
        pytest.skip("no torch: `make test` finds or installs one")
    return Path(folder) / "torch"


@pytest.fixture(scope="session")
def operator_reports(build, torch, tmp_path_factory):
    """Reports on the operators of the installed torch: with planted faults (True) and without (False)."""
    from planted_operators import compute_all

    return {
        planted: compute_all(build, torch, tmp_path_factory.mktemp("operators"), planted) for planted in (True, False)
    }


@pytest.fixture(scope="session")
def sound(tmp_path_factory):
    """A small build that keeps its claim, as far as files go."""
    from gated import build as small_build

    return small_build(tmp_path_factory.mktemp("sound") / "site", "-mavx2", "-mfma")


@pytest.fixture
def python(build):
    """Runs Python code, or arguments, in an interpreter that sees the package and the given folders."""

    def run(*arguments, see=(), executable=sys.executable, env=None):
        path = os.pathsep.join(str(folder) for folder in (build / "python", *see))
        clean = {key: value for key, value in os.environ.items() if key not in {"VIRTUAL_ENV", "CONDA_PREFIX"}}
        return subprocess.run(
            [executable, *map(str, arguments)],
            env={**clean, "PYTHONPATH": path, **(env or {})},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory):
    """The interpreter of an environment without any package."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin" / "python3"
