# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Compares predicted with real loading: the environment's own Python opens each extension module, after torch if the
module links torch.

PBPROBE_TEST_ENVIRONMENTS names environments with a torch, separated by colons.
"""

import json
import os
import pathlib
import re
import subprocess

import pytest
from made import PROGRAM

ENVIRONMENTS = [pathlib.Path(path) for path in os.environ.get("PBPROBE_TEST_ENVIRONMENTS", "").split(":") if path]

OPEN_EACH = """
import ctypes, json, os, sys
with_torch, files = json.load(sys.stdin)
if with_torch:
    import torch
for file in files:
    reader, writer = os.pipe()
    if os.fork() == 0:
        error = ""
        try:
            ctypes.CDLL(file, os.RTLD_NOW)
        except OSError as refusal:
            error = str(refusal)
        os.write(writer, error.encode()[:60000])
        os._exit(0)
    os.close(writer)
    print(json.dumps([file, os.fdopen(reader, "rb").read().decode()]))
    os.wait()
"""


def opened(environment, with_torch, files):
    """Returns the error of dlopen for each file; nothing if it opens."""
    done = subprocess.run(
        [environment / "bin/python", "-c", OPEN_EACH], input=json.dumps([with_torch, files]), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda path: path.name)
def test_predicts_the_files_that_dlopen_opens(environment):
    command = [PROGRAM, "audit", environment, "--distributions", "--format", "json"]
    document = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    [site] = environment.glob("lib/python3*/site-packages")
    loadings = {}
    for row in document["distributions"]:
        for loading in row["loading"] or []:
            loadings[str(site / loading["path"])] = (row["torch_abi"], loading)
    compared = 0
    for with_torch in (False, True):
        asked = [file for file, (abi, one) in loadings.items() if (abi in ("cxx", "stable")) == with_torch]
        for file, error in opened(environment, with_torch, asked).items():
            loading = loadings[file][1]
            if loading["assumed"]:
                continue  # its package opens these libraries first
            missing = {one["name"] for one in loading["missing_libraries"]}
            versions = {one["version"] for one in loading["missing_versions"]}
            unresolved = {one["name"] for one in loading["unresolved"]}
            compared += 1
            if not (missing or versions or unresolved):
                assert error == "" or re.search(r"libcuda\.so|libnvidia", error), (file, error)
            elif missing:
                assert error.split(":")[0] in missing, (file, error)
            elif re.search(r"libcuda\.so|libnvidia", error):
                compared -= 1  # without the driver dlopen comes no further
            elif versions:
                assert re.search(r"version `([^']+)' not found", error)[1] in versions, (file, error)
            else:
                assert re.search(r"undefined symbol: (\S+)", error)[1].rstrip(",") in unresolved, (file, error)
    print(f"{environment.name}: {compared} files, {len(loadings)} looked at")
    assert compared > 10


def traced(file, python, libraries):
    """Returns symbols that ld.so does not find in a process of this Python, as `ldd -r` prints them."""
    environment = {"LD_TRACE_LOADED_OBJECTS": "1", "LD_WARN": "yes", "LD_BIND_NOW": "yes", "LD_VERBOSE": "",
                   "LD_PRELOAD": str(file), "LD_LIBRARY_PATH": ":".join(map(str, libraries))}  # fmt: skip
    done = subprocess.run([python], env=environment, capture_output=True, text=True, check=False)
    printed = done.stdout + done.stderr
    absent = set(re.findall(r"^\s*(\S+) => not found", printed, re.MULTILINE))
    return absent, set(re.findall(r"undefined symbol: (\S+?),?\s", printed))


def exported(file):
    listed = subprocess.run(["nm", "-D", "--defined-only", file], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in listed.splitlines()}


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda path: path.name)
def test_lists_the_unresolved_symbols_of_ldd(environment):
    """Compares every extension that links torch, and torch's own. Compares the missing libraries instead if any."""
    command = [PROGRAM, "audit", environment, "--distributions", "--format", "json"]
    document = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    [site] = environment.glob("lib/python3*/site-packages")
    libraries = [site / "torch/lib", *sorted({file.parent for file in site.glob("nvidia/**/lib/*.so*")})]
    files = symbols = 0
    for row in document["distributions"]:
        for loading in (row["loading"] or []) if row["torch_abi"] != "none" else []:
            absent, undefined = traced(site / loading["path"], document["interpreter"], libraries)
            absent -= {pathlib.Path(library).name for library in loading["assumed"]}  # its package opens them first
            driver = re.compile(r"libcuda\.so|libnvidia|libnvcuvid")
            assert {one["name"] for one in loading["missing_libraries"]} == {
                name for name in absent if not driver.match(name)
            }, loading["path"]
            if absent:
                continue
            for library in loading["assumed"]:
                file = site / library  # a path, or the name of one that lies on no search path
                undefined -= exported(file if file.exists() else next(site.rglob(library)))
            ours = {one["name"] for one in loading["unresolved"]}
            assert ours == {name for name in undefined if not re.match(r"cu[A-Z]|nvml", name)}, loading["path"]
            files += 1
            symbols += len(ours)
    print(f"{environment.name}: {files} files that link torch, {symbols} unresolved symbols, the same in both")
    assert files > 10


MAPPED = """
import torch
for line in open("/proc/self/maps"):
    fields = line.split()
    if len(fields) == 6 and "x" in fields[1] and fields[5][0] == "/":
        print("mapped", fields[5])
"""


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda path: path.name)
def test_matches_the_mapped_files_of_a_process(environment):
    command = [PROGRAM, "report", environment, "--full", "--budget", "600", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    imports = json.loads(done.stdout)["imports"]
    assert (imports[0]["module"], imports[0]["problem"]) == ("torch", None)
    printed = subprocess.run(
        [environment / "bin/python", "-c", MAPPED], capture_output=True, text=True, check=True
    ).stdout
    mapped = {line.split()[1] for line in printed.splitlines() if line.startswith("mapped ")}
    assert set(imports[0]["predicted"]) <= mapped
    files = sum(len(one["predicted"]) for one in imports if one["problem"] is None)
    tried = sum(one["obstacle"] is None for one in imports)
    assert not [one["module"] for one in imports if one["obstacle"] == "time_limit"]
    assert tried >= 0.8 * len(imports), [(one["module"], one["problem"]) for one in imports if one["obstacle"]]
    print(f"{environment.name}: {len(imports)} modules, {tried} tried, {files} files predicted for imported modules")
    for one in imports:
        print(f"{one['module']}: {len(one['predicted'])} predicted, {len(one['loaded'])} mapped, {one['problem']}")
        if one["problem"] is None:
            assert (one["others"], one["unpredicted"], one["refused_by_files"]) == ([], [], None), one["module"]
