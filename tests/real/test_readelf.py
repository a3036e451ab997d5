# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""What the audit says of the links of each file of a whole torch, against readelf and strings."""

import json
import os
import pathlib
import re
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("PBPROBE_TEST_BUILD", SOURCE / "build")) / "bin/pbprobe"
TORCH = os.environ.get("PBPROBE_TEST_TORCH")
pytestmark = pytest.mark.skipif(not TORCH, reason="PBPROBE_TEST_TORCH names no torch")


def output(*command):
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout


@pytest.fixture(scope="module")
def files():
    inventory = json.loads(output(PROGRAM, "audit", TORCH, "--format", "json"))
    found = {file["path"]: file for file in inventory["files"] if file["links"]}
    assert len(found) > 10
    return found


def on_disk(path):
    return pathlib.Path(TORCH) / path


def dynamic(path):
    """DT_NEEDED, DT_SONAME, DT_RPATH and DT_RUNPATH, as readelf -d prints them."""
    entries = {"NEEDED": [], "SONAME": [], "RPATH": [], "RUNPATH": []}
    for line in output("readelf", "-dW", on_disk(path)).splitlines():
        match = re.search(r"\((NEEDED|SONAME|RPATH|RUNPATH)\).*\[(.*)\]$", line)
        if match:
            entries[match[1]].append(match[2])
    return entries


def numbers(version):
    return [int(part) for part in version.split(".")]


def floors(path):
    """Highest versions that readelf -V lists as needed."""
    highest = {}
    for name, version in re.findall(r"Name: (\w+)_([0-9.]+)\s+Flags", output("readelf", "-VW", on_disk(path))):
        if name not in highest or numbers(version) > numbers(highest[name]):
            highest[name] = version
    return highest


def split(paths):
    return [folder for path in paths for folder in path.split(":") if folder]


def test_links_are_those_of_readelf(files):
    for path, file in files.items():
        entries = dynamic(path)
        assert file["needed"] == entries["NEEDED"], path
        assert [file["soname"]] == (entries["SONAME"] or [None]), path
        assert file["rpath"] == split(entries["RPATH"]), path
        assert file["runpath"] == split(entries["RUNPATH"]), path


def test_version_floors_are_those_of_readelf(files):
    for path, file in files.items():
        assert file["links"]["version_floors"] == floors(path), path


def test_sonames_of_the_toolkit_are_those_of_the_table(files):
    """Each library of the installed release is loaded by a name that recipes/cuda_components.json has for it."""
    table = json.loads((SOURCE / "recipes/cuda_components.json").read_text())["releases"]
    inventory = json.loads(output(PROGRAM, "audit", TORCH, "--format", "json"))
    wanted = (inventory["component_versions"] or {}).get("CUDA toolkit")
    release = next((entry for entry in table if entry["release"] == wanted), None)
    if release is None:
        pytest.skip(f"CUDA toolkit {wanted} is not in the table")
    sonames = {file["soname"] for file in files.values()}
    for component in release["components"]:
        there = [name for name in component["sonames"] if name in sonames]
        assert there or component["component"] == "NVTX", component
        assert inventory["component_versions"][component["component"]].startswith(component["version"])


def test_what_compilers_know_stands_in_their_files(files):
    """`strings` finds each target that the audit names, and none that the audit leaves out."""
    compilers = {path: file["compiler"] for path, file in files.items() if file["compiler"]}
    assert compilers
    for path, compiler in compilers.items():
        lines = output("strings", "-n", "8", on_disk(path)).splitlines()
        words = {match[1] for line in lines if (match := re.search(r"(?<! )compute_([0-9]{2,3}[af]?)$", line))}
        assert set(compiler["knows"]) == {f"sm_{word}" for word in words}, path
        assert any(f"V{compiler['version']}" in line for line in lines), path
