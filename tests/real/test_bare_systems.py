# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The wheel in bare systems: from pip or uv to the verdict on the installed torch, in under a minute, without root.

`pytest -s` prints the figures.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bare import DEBIAN, SOURCE, UBUNTU, USER, System, pristine

NAMES = {**DEBIAN, **UBUNTU}
PYTHON = {"bullseye": "3.9", "bookworm": "3.11", "trixie": "3.13", "jammy": "3.10", "noble": "3.12"}
LIMIT = 60  # seconds, of issue 25
PACKAGES = ("python3", "python3-venv")


@pytest.fixture(scope="session")
def wheel():
    found = sorted((SOURCE / "dist").glob(f"pbprobe-*_{platform.machine()}.whl"))
    if not found:
        pytest.skip("no wheel in dist: make wheel")
    return found[-1]


@pytest.fixture(scope="session")
def torch():
    folder = os.environ.get("PBPROBE_TEST_TORCH")
    if not folder:
        pytest.skip("no torch: `make test` finds or installs one")
    return Path(folder)


@pytest.fixture(params=sorted(NAMES), ids=lambda release: NAMES[release].replace(" ", ""))
def system(request, tmp_path):
    # Uses only the python3 of the release.
    return request.param, System(pristine(request.param, PACKAGES), tmp_path)


def run_as_plain_user(system, *command, torch=None, env=None, wheel=None, more=None):
    shown = {**(more or {})}
    if torch:
        shown[torch] = "/site"
    if wheel:
        shown[wheel.parent] = "/dist"
    return system.run(*command, user=USER, shown=shown, env={"HOME": "/home/user", **(env or {})})


def prepared(system):
    system.run("mkdir", "-p", "/home/user")
    system.run("chown", f"{USER}:{USER}", "/home/user")


def checked(result):
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout


def judged(report):
    """A verdict on that torch, whose CPU code was loaded there and computed correctly. Without a GPU it is unknown."""
    assert report.returncode == 0, report.stdout + report.stderr
    assert re.match(r"(PASS|UNKNOWN) +torch 2\.", report.stdout), report.stdout
    assert re.search(r"^ +CPU .* ok +ok +ok ", report.stdout, re.MULTILINE), report.stdout


def test_runs_from_pip_to_the_verdict(system, wheel, torch):
    release, system = system
    prepared(system)
    version = checked(run_as_plain_user(system, "python3", "--version")).split()[1]
    assert version.startswith(PYTHON[release] + ".")
    busy = os.getloadavg()[0] > os.cpu_count()
    start = time.monotonic()
    checked(run_as_plain_user(system, "python3", "-m", "venv", "/home/user/venv"))
    # Installs the wheel with pip and without an index.
    install = "/home/user/venv/bin/pip install --no-index --disable-pip-version-check /dist/" + wheel.name
    checked(run_as_plain_user(system, "sh", "-c", install, wheel=wheel))
    installed = time.monotonic()
    report = run_as_plain_user(system, "/home/user/venv/bin/pbprobe", "report", "/site/torch", torch=torch)
    seconds = time.monotonic() - start
    beside = ", beside other work" if busy else ""
    times = f"{installed - start:.1f} s to install, {seconds:.1f} s to the verdict{beside}"
    print(f"\n{NAMES[release]}, Python {version}: {times}")
    judged(report)
    assert busy or seconds < LIMIT
    shown = run_as_plain_user(system, "/home/user/venv/bin/pbprobe", "audit", "/site/torch/lib/libc10.so", torch=torch)
    assert "libc10.so" in checked(shown)


def test_reports_a_missing_torch(system, wheel):
    _, system = system
    prepared(system)
    install = "python3 -m venv /home/user/venv && /home/user/venv/bin/pip install --no-index /dist/" + wheel.name
    checked(run_as_plain_user(system, "sh", "-c", install, wheel=wheel))
    code = "import pbprobe\ntry: pbprobe.report(show=False)\nexcept pbprobe.Error as error: print('no torch:', error)"
    assert "no torch:" in checked(run_as_plain_user(system, "/home/user/venv/bin/python3", "-c", code))
    assert "targets compiled in" in checked(run_as_plain_user(system, "/home/user/venv/bin/pbprobe", "--version"))


def test_runs_by_uv_and_uvx(system, wheel, torch):
    _, system = system
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if not uv:
        pytest.skip("uv is not installed: make setup")
    prepared(system)
    system.copy(Path(uv), "/usr/local/bin/")
    system.run("chmod", "755", "/usr/local/bin/uv")
    offline = {"UV_OFFLINE": "1", "UV_PYTHON_PREFERENCE": "only-system", "UV_NO_PROGRESS": "1"}
    install = "uv venv /home/user/venv && uv pip install --python /home/user/venv /dist/" + wheel.name
    checked(run_as_plain_user(system, "sh", "-c", install, wheel=wheel, env=offline))
    assert "targets compiled in" in checked(run_as_plain_user(system, "/home/user/venv/bin/pbprobe", "--version"))
    run = ("uv", "tool", "run", "--from", f"/dist/{wheel.name}", "pbprobe", "report", "/site/torch")  # uvx
    report = run_as_plain_user(system, *run, wheel=wheel, torch=torch, env=offline)
    judged(report)


def test_operators_and_the_node_check_beside_a_torch_of_that_python(wheel, torch, tmp_path):
    """Debian 12, whose Python is the one that the torch here is for."""
    version = subprocess.run([sys.executable, "--version"], capture_output=True, text=True, check=True).stdout.split()[
        1
    ]
    release = next((one for one, python in PYTHON.items() if version.startswith(python + ".")), None)
    if not release:
        pytest.skip(f"no bare system has Python {version}")
    system = System(pristine(release, PACKAGES), tmp_path)
    prepared(system)
    install = "python3 -m venv /home/user/venv && /home/user/venv/bin/pip install --no-index /dist/" + wheel.name
    checked(run_as_plain_user(system, "sh", "-c", install, wheel=wheel))
    beside = {"PYTHONPATH": "/site"}
    code = "import torch; from pbprobe import ops; a = torch.eye(64); print(torch.equal(ops.mm(a, a), a))"
    run = run_as_plain_user(system, "/home/user/venv/bin/python3", "-W", "ignore", "-c", code, torch=torch, env=beside)
    assert checked(run).split()[-1] == "True"
    node = ("/home/user/venv/bin/python3", "-m", "pbprobe.fleet", "--node-health")
    health = run_as_plain_user(system, *node, torch=torch, env=beside)
    assert health.returncode == 0, health.stdout + health.stderr
