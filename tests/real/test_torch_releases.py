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
from made import MACHINE, PROGRAM, SOURCE

FOLDER = os.environ.get("PBPROBE_TEST_WHEELS")
WHEELS = sorted(pathlib.Path(FOLDER).glob("*.whl")) if FOLDER else []
TORCHES = [pathlib.Path(one) for one in os.environ.get("PBPROBE_TEST_TORCHES", "").split(":") if one]

pytestmark = pytest.mark.skipif(not WHEELS or not TORCHES, reason="no PBPROBE_TEST_WHEELS or PBPROBE_TEST_TORCHES")

# Opens each file in its own process that has imported torch: loaded libraries stay in a process. A library that only
# another module of its package opens may find libtorch_python.so by that module: its names are made global.
OPEN = """
import ctypes, json, os, sys
import torch
ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib/libtorch_python.so"), ctypes.RTLD_GLOBAL)
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
KNOWN = json.loads((SOURCE / "recipes/torch_symbols.json").read_text())["releases"]
# A name of another namespace is of a library that only another module of the package opens.
NO_ANSWER = re.compile(
    r"cannot open shared object file|version `|undefined symbol: (_?Py|_ZN[KRO]*(?!2at|3c10|4c10d|5torch|6caffe2)\d)"
)


def find_releases(path, files, seen=()):
    """The releases with the symbols of a file and of the libraries of its wheel that it needs; None without any."""
    links = files.get(path, {}).get("links") or {}
    own = (links.get("torch_symbols") or {}).get("releases")
    needed = [one["path"] for one in links.get("dependencies", []) if one["provider"] == "artifact"]
    for other in needed:
        more = None if other in seen else find_releases(other, files, (*seen, path))
        if more is not None:
            own = [release for release in more if own is None or release in own]
    return own


def audited(wheel):
    """The releases of each file that takes something from torch, by the path in the wheel."""
    done = subprocess.run([PROGRAM, "audit", wheel, "--format", "json"], capture_output=True, text=True, check=False)
    document = json.loads(done.stdout)
    files = {file["path"]: file for file in (document.get("inventory") or document)["files"]}
    releases = {path: find_releases(path, files) for path, file in files.items() if file.get("machine") == MACHINE}
    return {path: one for path, one in releases.items() if one is not None}


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
    if not any(release.startswith(version + ".") for release in KNOWN):
        pytest.skip(f"recipes/torch_symbols.json does not have torch {version}")
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
