# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Links of each file of a whole torch in the audit, compared with readelf and strings."""

import json
import os
import pathlib
import re

import pytest
import readelf

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("PBPROBE_TEST_BUILD", SOURCE / "build")) / "bin/pbprobe"
TORCH = os.environ.get("PBPROBE_TEST_TORCH")
pytestmark = pytest.mark.skipif(not TORCH, reason="PBPROBE_TEST_TORCH names no torch")


@pytest.fixture(scope="module")
def files():
    inventory = json.loads(readelf.output(PROGRAM, "audit", TORCH, "--format", "json"))
    found = {file["path"]: file for file in inventory["files"] if file["links"]}
    assert len(found) > 10
    return found


def get_path(path):
    return pathlib.Path(TORCH) / path


def test_links_are_those_of_readelf(files):
    for path, file in files.items():
        entries = readelf.dynamic(get_path(path))
        assert file["needed"] == entries["NEEDED"], path
        assert [file["soname"]] == (entries["SONAME"] or [None]), path
        assert file["rpath"] == readelf.split(entries["RPATH"]), path
        assert file["runpath"] == readelf.split(entries["RUNPATH"]), path


def test_version_floors_are_those_of_readelf(files):
    for path, file in files.items():
        assert file["links"]["version_floors"] == readelf.floors(get_path(path)), path


def test_sonames_of_the_toolkit_are_those_of_the_table(files):
    """Requires the name of each loaded library of the installed release in recipes/cuda_components.json."""
    table = json.loads((SOURCE / "recipes/cuda_components.json").read_text())["releases"]
    inventory = json.loads(readelf.output(PROGRAM, "audit", TORCH, "--format", "json"))
    wanted = (inventory["component_versions"] or {}).get("CUDA toolkit")
    release = next((entry for entry in table if entry["release"] == wanted), None)
    if release is None:
        pytest.skip(f"CUDA toolkit {wanted} is not in the table")
    sonames = {file["soname"] for file in files.values()}
    for component in release["components"]:
        there = [name for name in component["sonames"] if name in sonames]
        assert there or component["component"] == "NVTX", component
        assert inventory["component_versions"][component["component"]].startswith(component["version"])


def test_reads_the_targets_of_compilers(files):
    """`strings` finds each target that the audit names, and none that the audit leaves out."""
    compilers = {path: file["compiler"] for path, file in files.items() if file["compiler"]}
    assert compilers
    for path, compiler in compilers.items():
        lines = readelf.output("strings", "-n", "8", get_path(path)).splitlines()
        words = {match[1] for line in lines if (match := re.search(r"(?<! )compute_([0-9]{2,3}[af]?)$", line))}
        assert set(compiler["knows"]) == {f"sm_{word}" for word in words}, path
        assert any(f"V{compiler['version']}" in line for line in lines), path
