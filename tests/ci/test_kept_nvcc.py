# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""tests/shared/kept_nvcc.py with a compiler that counts its runs: it runs once for equal inputs."""

import os
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "shared/kept_nvcc.py"
COMPILER = """#!/bin/sh
[ "$1" = --version ] && { echo "release VERSION"; exit; }
[ "$3" = -fail ] && { echo "no such flag" >&2; exit 3; }
echo run >>"$0.runs"
cat "$4" >"$2"
"""


@pytest.fixture
def compiler(tmp_path):
    """Returns a function that compiles a text for a flag. It returns the process, the output and the number of runs."""
    program = tmp_path / "nvcc"
    program.write_text(COMPILER)
    program.chmod(0o755)

    def run(text="a", flag="-c", name="out.o", **environment):
        (tmp_path / "in.cu").write_text(text)
        command = [sys.executable, SCRIPT, program, "-o", tmp_path / name, flag, tmp_path / "in.cu"]
        environment = {**os.environ, "CCACHE_DIR": str(tmp_path / "cache"), **environment}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        runs = tmp_path / "nvcc.runs"
        output = tmp_path / name
        return done, output.read_text() if output.exists() else None, len(runs.read_text()) // 4 if runs.exists() else 0

    run.program = program
    return run


def test_compiles_equal_inputs_once(compiler, tmp_path):
    for number, (text, changes, runs) in enumerate([
        ("a", {}, 1), ("a", {}, 1), ("b", {}, 2), ("a", {}, 2), ("a", {"flag": "-g"}, 3), ("a", {"name": "x.o"}, 4),
        ("a", {"CCACHE_DISABLE": "1"}, 5),
    ]):  # fmt: skip
        (tmp_path / "out.o").unlink(missing_ok=True)
        done, output, ran = compiler(text, **changes)
        assert (done.returncode, output, ran) == (0, text, runs), (number, done.stderr)
    compiler.program.write_text(COMPILER.replace("VERSION", "other"))
    assert compiler()[2] == 6


def test_reports_a_failed_compiler_and_keeps_nothing(compiler):
    for _ in range(2):
        done, output, runs = compiler(flag="-fail")
        assert (done.returncode, done.stderr, output, runs) == (3, "no such flag\n", None, 0)
