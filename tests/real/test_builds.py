# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The audit of six real builds: its findings are true of them, and of each file it says what readelf says."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

import builds
import pytest
import readelf

pytestmark = pytest.mark.skipif(not builds.FOLDER, reason="PBPROBE_TEST_BUILDS names no folder of real builds")
each_build = pytest.mark.parametrize("build", builds.BUILDS, ids=lambda build: build.name)


def audit(build, *arguments):
    with build.artifact() as artifact:
        command = [builds.PROGRAM, "audit", artifact, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)


@each_build
def test_findings_without_a_claim_are_true(build):
    done = audit(build)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"^\s*(?:fail|warn|note)\s+(PB[0-9]{3})", done.stdout, re.MULTILINE)
    assert set(found) == build.findings, done.stdout


@each_build
def test_findings_with_a_true_claim_are_true(build):
    done = audit(build, "--claim", build.claim, "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    verdict = json.loads(done.stdout)["verdict"]
    assert verdict["outcome"] == "pass", verdict
    assert {finding["id"] for finding in verdict["findings"]} == build.findings | build.claimed_findings, verdict


@pytest.mark.parametrize("build", [one for one in builds.BUILDS if one.untrue], ids=lambda build: build.name)
def test_generic_build_needs_no_better_cpu(build):
    done = audit(build, "--claim", f"{build.claim},{build.untrue}", "--format", "json")
    failed = {row["id"] for row in json.loads(done.stdout)["verdict"]["findings"] if row["severity"] == "fail"}
    assert (done.returncode, failed) == (1, {"PB208"})


def members(build, artifact, paths):
    """Yields each of these files of the artifact on disk."""
    if not build.is_wheel:
        yield from ((path, artifact / path) for path in paths)
        return
    for path in paths:
        with build.file(path) as copy:
            yield path, copy


@each_build
def test_links_are_those_of_readelf(build):
    with build.artifact() as artifact:
        command = [builds.PROGRAM, "audit", artifact, "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        files = {file["path"]: file for file in json.loads(done.stdout)["files"] if file["links"]}
        assert len(files) >= 5
        if build.is_wheel:
            with zipfile.ZipFile(artifact) as wheel:
                elf = {name for name in wheel.namelist() if ".so" in name.rsplit("/", 1)[-1]}
            assert elf <= files.keys(), "a shared object was passed over"
        for path, copy in members(build, artifact, files):
            entries = readelf.dynamic(copy)
            assert files[path]["needed"] == entries["NEEDED"], path
            assert [files[path]["soname"]] == (entries["SONAME"] or [None]), path
            assert files[path]["rpath"] == readelf.split(entries["RPATH"]), path
            assert files[path]["runpath"] == readelf.split(entries["RUNPATH"]), path
            assert files[path]["links"]["version_floors"] == readelf.floors(copy), path
            assert files[path]["machine"] == readelf.machine(copy), path
            if files[path]["host_code"] and files[path]["machine"] == "x86_64":  # aarch64 has data among code
                assert files[path]["host_code"]["code_bytes"] == readelf.code_bytes(copy), path


def test_table_of_the_docs_is_theirs():
    written = (builds.SOURCE / "docs/wheels.md").read_text()
    assert builds.table() in written, "python3 tests/real/write_wheels.py writes it again"


def run_script(script, *arguments):
    """One of tests/audit's comparisons; 77: it lacks a tool."""
    command = [sys.executable, builds.SOURCE / "tests/audit" / script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip(done.stdout)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


def libtorch_cpu(build):
    return "torch/lib/libtorch_cpu.so" if build.is_wheel else "usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13.0"


@each_build
def test_census_is_that_of_objdump(build):
    """Minutes each: objdump writes gigabytes of text."""
    with build.file(libtorch_cpu(build)) as copy:
        run_script("objdump_truth.py", builds.PROGRAM, copy, "--runs", "1")


@each_build
def test_stripped_files_tell_no_other_minimum_cpu(build):
    paths = [libtorch_cpu(build)] + (["torch/lib/libc10.so", "torch/lib/libtorch_python.so"] if build.is_wheel else [])
    for path in paths:
        with build.file(path) as copy:
            run_script("stripped_truth.py", builds.PROGRAM, copy)


@each_build
def test_device_code_is_that_of_cuobjdump(build):
    cuobjdump = os.environ.get("PBPROBE_TEST_CUOBJDUMP") or shutil.which("cuobjdump")
    if not cuobjdump:
        pytest.skip("cuobjdump is missing: pip install nvidia-cuda-cuobjdump")
    done = audit(build, "--format", "json")
    paths = [file["path"] for file in json.loads(done.stdout)["files"] if file["device_code"]]
    if not paths:
        pytest.skip("it has no device code")
    for path in paths:
        with build.file(path) as copy:
            run_script("peers.py", "--pbprobe", builds.PROGRAM, "--cuobjdump", cuobjdump, copy)
