# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Stock installations: `pip install torch==X` from the package index gives no finding that requests an action.

PBPROBE_TEST_STOCK=all, or versions ("2.1.2,2.7.1"), downloads up to 4 GB for each, one after the other. If PyTorch's
own index is reachable, PBPROBE_TEST_TORCH_INDEX=https://download.pytorch.org/whl adds its builds (cu118 … cpu).
Otherwise the CPU builds are the aarch64 builds of PyPI, which have no CUDA.
"""

import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

import pytest
from made import PROGRAM

RELEASES = (
    "2.1.2 2.2.2 2.3.1 2.4.1 2.5.1 2.6.0 2.7.0 2.7.1 2.8.0 2.9.1 2.10.0 2.11.0 2.12.1 2.13.0 2.14.1 2.15.0".split()
)
ASKED = os.environ.get("PBPROBE_TEST_STOCK", "")
CHOSEN = RELEASES if ASKED == "all" else [version for version in ASKED.split(",") if version]
INDEX = os.environ.get("PBPROBE_TEST_TORCH_INDEX")
HOST = pathlib.Path(__file__).parents[1] / "judge/recorded/xeon-without-gpu.json"
# Defects of the release itself, as in builds.py.
OF_RELEASE = {("2.9.1", "aarch64"): {"PB205"}, ("2.10.0", "aarch64"): {"PB205"}}
# Checks of the machine, which request nothing about the installation.
OF_MACHINE = {"PB309", "PB505", "PB531", "PB532", "PB533", "PB534", "PB535"}

pytestmark = [
    pytest.mark.skipif(not CHOSEN, reason="downloads gigabytes: PBPROBE_TEST_STOCK=all or versions"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the wheels with CUDA that it installs are for x86_64"),
]


def pip(*arguments):
    command = [sys.executable, "-m", "pip", "--quiet", "--no-cache-dir", *map(str, arguments)]
    subprocess.run(command, check=True, timeout=1800)


def install(folder, version, build):
    """Returns the environment with what pip installs for this version."""
    if build == "aarch64":
        tags = [f"--platform=manylinux_2_{minor}_aarch64" for minor in (17, 28)] + ["--platform=manylinux2014_aarch64"]
        pip(
            "install",
            "--no-compile",
            "--only-binary=:all:",
            *tags,
            "--no-deps",
            "--target",
            folder,
            f"torch=={version}",
        )
        return folder
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    index = [] if build == "pypi" else ["--index-url", f"{INDEX}/{build}"]
    pip("--python", folder / "bin/python", "install", "--no-compile", *index, f"torch=={version}")
    return folder


BUILDS = ["pypi", "aarch64", *(["cu118", "cu126", "cu130", "cpu"] if INDEX else [])]


@pytest.fixture(scope="module", params=[(version, build) for version in CHOSEN for build in BUILDS], ids="-".join)
def stock(request, tmp_path_factory):
    """Removed as soon as its tests are done: an environment has up to 7 GB."""
    folder = tmp_path_factory.mktemp("stock") / "env"
    yield request.param[0], install(folder, *request.param)
    shutil.rmtree(folder)


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=900, check=False)
    assert done.stdout.startswith("{"), done.stderr
    return done.returncode, json.loads(done.stdout)


def get_known_defects(version, environment):
    build = "pypi" if (environment / "bin/python").exists() else "aarch64"
    return OF_RELEASE.get((version, build), set())


def list_requests(verdict, known):
    return [
        f"{finding['severity']} {finding['id']}: {finding['what']} ({finding['where']})"
        for finding in verdict["findings"]
        if finding["severity"] != "note" and finding["id"] not in OF_MACHINE | known
    ]


def test_report_asks_for_nothing(stock):
    version, environment = stock
    _, report = run("report", environment, "--host", HOST, "--format", "json")
    wrong_processor = (report["inventory"]["platform"] or "").startswith("aarch64")
    known = get_known_defects(version, environment)
    findings = [one for one in list_requests(report["verdict"], known) if not (wrong_processor and "aarch64" in one)]
    assert findings == []
    assert report["inventory"]["torch_version"].startswith(version)


def test_report_of_this_machine_asks_for_nothing(stock):
    """pbprobe starts torch from 2.8 on."""
    version, environment = stock
    if not (environment / "bin/python").exists():
        pytest.skip("the torch is for another processor")
    _, report = run("report", environment, "--budget", "10", "--format", "json")
    assert list_requests(report["verdict"], get_known_defects(version, environment)) == []
    [cpu] = [row for row in report["verdict"]["claims"] if row["claim"].startswith("CPU")]
    started = tuple(map(int, version.split(".")[:2])) >= (2, 8)
    assert (cpu["loaded"], cpu["executed"]) == (("pass", "pass") if started else (None, None))


def test_audit_asks_for_nothing(stock):
    version, environment = stock
    done = subprocess.run([PROGRAM, "audit", environment], capture_output=True, text=True, timeout=900, check=False)
    ids = re.findall(r"^(?:fail|warn)\[(.*)\]", done.stdout, re.MULTILINE)
    assert set(ids) == get_known_defects(version, environment)
    assert done.returncode == 0, done.stderr


def test_its_packages_have_no_fault(stock):
    version, environment = stock
    known = get_known_defects(version, environment)
    _, document = run("audit", environment, "--distributions", "--format", "json")
    faults = [
        f"{row['name']}: {finding['id']} {finding['what']}"
        for row in document["distributions"]
        for finding in row["findings"]
        if finding["severity"] != "note" and finding["id"] not in known
    ]
    assert (faults, document["problems"], document["reinstall"]) == ([], [], None)


def test_gate_of_its_own_claim_has_no_objection(stock):
    version, environment = stock
    _, inventory = run("audit", environment, "--format", "json")
    cuda = inventory["cuda_version"]
    claim = f"torch={version}" + (f",cuda={cuda}" if cuda else "")
    _, gated = run("gate", environment, "--claim", claim, "--require", "shipped", "--format", "json")
    assert [one for one in gated["verdict"]["objections"] if one["outcome"] == "fail"] == []
