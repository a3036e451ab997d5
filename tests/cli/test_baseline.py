# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A build beside a generic one, as far as files tell: whether they may be compared, and which is smaller."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from gated import CLAIM, CODE, build
from real_torch import audited_torch
from test_cli import PASSED, TORCH, needs_torch, refused, run


def test_compares_a_baseline_by_its_files(sound, tmp_path):
    same = run("gate", sound, "--claim", CLAIM, "--baseline", sound)
    assert same.returncode == PASSED, same.stderr
    # Neither links a BLAS that is known: two builds that tell nothing are not called comparable.
    assert "Beside" in same.stdout and "not comparable" in same.stdout
    assert "BLAS unknown against unknown" in same.stdout and "threads by unknown against unknown" in same.stdout
    assert "PB522" in same.stdout and ("(+0 %; specialized builds promise 50 to 70 % less)") in " ".join(
        same.stdout.split()
    )
    older = build(tmp_path / "site", "-mavx2")
    (older / "torch/version.py").write_text("__version__ = '2.9.1'\ncuda = '13.0'\n")
    other = run("gate", sound, "--claim", CLAIM, "--baseline", older)
    assert "torch 2.10.0 against 2.9.1" in other.stdout and "CUDA none against 13.0" in other.stdout


def test_does_not_time_a_report_against_a_baseline(sound, tmp_path):
    """The facts of a report may come from another machine."""
    document = tmp_path / "report.json"
    document.write_text(run("gate", sound, "--claim", CLAIM, "--format", "json").stdout)
    timed = run("gate", document, "--claim", CLAIM, "--require", "measured", "--baseline", sound)
    refused(timed, "cannot be timed", "name the build itself")
    assert "Beside" in run("gate", document, "--claim", CLAIM, "--baseline", sound).stdout


def onednn(artifact):
    """The version that the audit reads in libtorch_cpu.so."""
    inventory = json.loads(run("audit", artifact, "--format", "json", timeout=300).stdout)
    (file,) = [file for file in inventory["files"] if file["path"].endswith("libtorch_cpu.so")]
    return file["links"]["versions"].get("oneDNN")


def test_does_not_compare_a_baseline_with_another_onednn(sound, tmp_path):
    build(tmp_path / "ours/site", "-mavx2", "-mfma", "-DONEDNN=3,10,2")
    build(tmp_path / "same/site", "-mavx2", "-DONEDNN=3,10,2")
    build(tmp_path / "older/site", "-mavx2", "-DONEDNN=3,7,1")

    def read_comparison(baseline):
        text = run("gate", tmp_path / "ours/site", "--claim", CLAIM, "--baseline", baseline).stdout
        assert "Beside" in text
        return text

    assert "oneDNN" not in read_comparison(tmp_path / "same/site")
    assert "oneDNN 3.10.2 against 3.7.1" in read_comparison(tmp_path / "older/site")
    assert "oneDNN 3.10.2 against unknown" in read_comparison(sound)


@pytest.mark.parametrize("compiler", ["g++", "aarch64-linux-gnu-g++"])
def test_onednn_tells_its_version_by_its_symbols_or_by_its_code(tmp_path, compiler):
    """In a stripped library, the code of the exported function contains the numbers."""
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    source = tmp_path / "code.cpp"
    source.write_text(CODE)
    tools = compiler.removesuffix("g++")
    for name, flags in [("plain", []), ("guarded", ["-fcf-protection=full"] if compiler == "g++" else ["-O1"])]:
        library = tmp_path / name / "libtorch_cpu.so"
        library.parent.mkdir()
        command = [compiler, "-O2", *flags, "-DONEDNN=12,345,6", "-shared", "-fPIC", "-o", library, source]
        subprocess.run(command, check=True)
        assert onednn(library) == "12.345.6"
        subprocess.run([f"{tools}strip", library], check=True)
        assert onednn(library) == "12.345.6", "stripped"
        subprocess.run([*command[:-1], "-DNDEBUG", "-fvisibility=hidden", source], check=True)
        subprocess.run([f"{tools}strip", library], check=True)
        assert onednn(library) is None, "nothing is left that tells"


@needs_torch
def test_finds_the_stated_onednn_in_a_real_torch():
    reported = subprocess.run(
        [sys.executable, "-c", "import torch; print(torch.__config__.show())"],
        env=os.environ | {"PYTHONPATH": TORCH},
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    named = re.search(r"MKL-DNN v([0-9.]+)", reported)
    if not named:
        pytest.skip("this Python does not load that torch")
    assert onednn(audited_torch()) == named[1]


def test_names_a_missing_baseline(sound, tmp_path):
    refused(run("gate", sound, "--claim", CLAIM, "--baseline", tmp_path / "absent"), "--baseline", "absent")
