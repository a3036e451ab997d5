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


def list_requests(verdict):
    return [
        f"{finding['severity']} {finding['id']}: {finding['what']} ({finding['where']})"
        for finding in verdict["findings"]
        if finding["severity"] != "note" and finding["id"] not in OF_MACHINE
    ]


def test_report_asks_for_nothing(stock):
    version, environment = stock
    _, report = run("report", environment, "--host", HOST, "--format", "json")
    wrong_processor = (report["inventory"]["platform"] or "").startswith("aarch64")
    findings = [one for one in list_requests(report["verdict"]) if not (wrong_processor and "aarch64" in one)]
    assert findings == []
    assert report["inventory"]["torch_version"].startswith(version)


def test_audit_asks_for_nothing(stock):
    _, environment = stock
    done = subprocess.run([PROGRAM, "audit", environment], capture_output=True, text=True, timeout=900, check=False)
    assert re.findall(r"^(?:fail|warn)\[.*", done.stdout, re.MULTILINE) == []
    assert done.returncode == 0, done.stderr


def test_its_packages_have_no_fault(stock):
    _, environment = stock
    _, document = run("audit", environment, "--distributions", "--format", "json")
    faults = [
        f"{row['name']}: {finding['id']} {finding['what']}"
        for row in document["distributions"]
        for finding in row["findings"]
        if finding["severity"] != "note"
    ]
    assert (faults, document["problems"], document["reinstall"]) == ([], [], None)


def test_gate_of_its_own_claim_has_no_objection(stock):
    version, environment = stock
    _, inventory = run("audit", environment, "--format", "json")
    cuda = inventory["cuda_version"]
    claim = f"torch={version}" + (f",cuda={cuda}" if cuda else "")
    _, gated = run("gate", environment, "--claim", claim, "--require", "shipped", "--format", "json")
    assert [one for one in gated["verdict"]["objections"] if one["outcome"] == "fail"] == []
