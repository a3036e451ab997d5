# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""dlopen() accepts the files in exactly the releases of torch that a row names.

PBPROBE_TEST_WHEELS names a folder of wheels. PBPROBE_TEST_TORCHES names folders, separated by colons, into which
`pip install --target` put one release of torch each. Files that lack a library outside torch are left out.
"""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest
from made import MACHINE, PROGRAM

FOLDER = os.environ.get("PBPROBE_TEST_WHEELS")
WHEELS = sorted(pathlib.Path(FOLDER).glob("*.whl")) if FOLDER else []
TORCHES = [pathlib.Path(one) for one in os.environ.get("PBPROBE_TEST_TORCHES", "").split(":") if one]

pytestmark = pytest.mark.skipif(not WHEELS or not TORCHES, reason="no PBPROBE_TEST_WHEELS or PBPROBE_TEST_TORCHES")

# Opens each file in its own process that has imported torch: loaded libraries stay in a process.
OPEN = """
import ctypes, json, os, sys, traceback
import torch
for path in sys.argv[1:]:
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            ctypes.CDLL(path)
            answer = ""
        except OSError as error:
            answer = str(error)
        os.write(write, answer.encode()[:4000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        print(json.dumps([path, answer.read()]), flush=True)
    os.wait()
"""
NO_ANSWER = re.compile(r"cannot open shared object file|version `|undefined symbol: _?Py")


def audited(wheel):
    """The releases of each file that takes something from torch, by the path in the wheel."""
    done = subprocess.run([PROGRAM, "audit", wheel, "--format", "json"], capture_output=True, text=True, check=False)
    document = json.loads(done.stdout)
    inventory = document.get("inventory") or document
    symbols = {file["path"]: (file.get("links") or {}).get("torch_symbols") for file in inventory["files"]}
    machines = {file["path"]: file.get("machine") for file in inventory["files"]}
    return {path: one["releases"] for path, one in symbols.items() if one and one.get("releases") is not None
            and machines[path] == MACHINE}  # fmt: skip


@pytest.fixture(scope="module")
def predicted(tmp_path_factory):
    """{file on disk: (wheel, releases)}: all libraries of a wheel are unpacked, for they need each other."""
    files = {}
    for wheel in WHEELS:
        folder = tmp_path_factory.mktemp(wheel.name.split("-")[0])
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if re.search(r"\.so(\.\d.*)?$", name)])
        for path, releases in audited(wheel).items():
            files[str(folder / path)] = (wheel.name, releases)
    return files


@pytest.mark.parametrize("torch", TORCHES, ids=lambda folder: folder.name)
def test_opens_each_file_in_the_predicted_releases(torch, predicted):
    version = re.search(r"__version__ = '(\d+\.\d+)", (torch / "torch/version.py").read_text())[1]
    environment = {**os.environ, "PYTHONPATH": str(torch), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", OPEN, *predicted], capture_output=True, text=True, check=False,
                          env=environment)  # fmt: skip
    answers = dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))
    assert answers.keys() == predicted.keys(), done.stderr
    counts, wrong = collections.Counter(), []
    for path, answer in answers.items():
        wheel, releases = predicted[path]
        if answer and NO_ANSWER.search(answer):
            counts["left out"] += 1
            continue
        opens = not answer
        counts["opens" if opens else "refused"] += 1
        if opens != (version in releases):
            wrong.append((wheel, pathlib.Path(path).name, releases, answer))
    print(f"torch {version}: {dict(counts)}, {len({wheel for wheel, _ in predicted.values()})} wheels")
    assert wrong == []
