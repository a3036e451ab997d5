# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A gate imports an installed torch in a sandbox, if a Python fits."""

import json
import subprocess
import sys

import pytest
from made import PROGRAM
from test_own_files import CLAIM, MODULE, record, torch

PYTHON = f"python3.{sys.version_info.minor}"
pytestmark = pytest.mark.skipif(PYTHON != "python3.11", reason="the build's extension module is for Python 3.11")


def environment(folder, text="", *, python=True, **changes):
    """An environment with a torch whose __init__.py is `text`."""
    site = folder / f"lib/{PYTHON}/site-packages"
    site.mkdir(parents=True)
    if python:
        (folder / "bin").mkdir()
        (folder / "bin" / PYTHON).symlink_to(sys.executable)
    return record(torch(texts=(("torch/__init__.py", text),), **changes).write(site))


def gated(site, *options):
    command = [PROGRAM, "gate", site, "--claim", CLAIM, "--no-emulated-run", "--format", "json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    verdict = json.loads(done.stdout)["verdict"]
    [asked] = [check for check in verdict["checks"] if check["id"] == "PB541"]
    return done.returncode, {one["id"]: one["what"] for one in verdict["findings"] if one["severity"] == "fail"}, asked


def test_imports_torch_without_a_trace(tmp_path):
    site = environment(tmp_path)
    before = sorted(path for path in tmp_path.rglob("*"))
    code, found, asked = gated(site)
    assert (code, found, asked["state"]) == (0, {}, "passed")
    assert sorted(path for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("python", [True, False], ids=["environment", "PATH"])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("from torch import nn\n", "importing torch: ImportError: cannot import name 'nn'"),
        ("import torch.nn\n", "importing torch: ModuleNotFoundError: No module named 'torch.nn'"),
        ("import os\nos.abort()\n", "importing torch: it was ended by SIGABRT"),
    ],
)
def test_rejects_torch_that_is_not_imported(tmp_path, text, says, python):
    site = environment(tmp_path, text, python=python)
    code, found, _ = gated(site)
    assert (code, found.keys()) == (1, {"PB541"})
    assert found["PB541"].startswith(says)
    assert gated(site, "--no-import")[:2] == (0, {})


@pytest.mark.parametrize(
    "text",
    [
        "import numpy_of_another_package\n",
        "import ctypes\nctypes.CDLL('libnothing_of_torch.so.1')\n",
        "import pathlib\npathlib.Path(__file__).with_name('made').touch()\n",
    ],
    ids=["a package", "a library", "a write"],
)
def test_accepts_torch_whose_surroundings_lack_something(tmp_path, text):
    site = environment(tmp_path, text)
    code, found, asked = gated(site)
    assert (code, found, asked["state"]) == (0, {}, "unanswered")
    assert not (site / "torch/made").exists()


def test_skips_import_without_fitting_python(tmp_path):
    site = environment(tmp_path, "raise SystemExit(1)\n", python=False)
    (site / MODULE).rename(site / MODULE.replace("311", "399"))
    _, found, asked = gated(site)
    assert "PB541" not in found
    assert (asked["state"], asked["why"]) == (
        "not_asked",
        "the package is not installed, no interpreter fits it, or --no-import was given",
    )


def test_skips_import_for_another_processor(tmp_path):
    site = environment(tmp_path, "import torch.nn\n")
    library = site / "torch/lib/libtorch_cpu.so"
    content = bytearray(library.read_bytes())
    content[18] = {62: 183, 183: 62}[content[18]]  # e_machine: x86-64 and AArch64
    library.unlink()  # a link to the library of all builds
    library.write_bytes(content)
    _, found, asked = gated(site)
    assert (asked["state"], "PB541" in found) == ("not_asked", False)
