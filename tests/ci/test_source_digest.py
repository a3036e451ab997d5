# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""cmake/SourceDigest.cmake: which edits of a kernel source change the digest that evidence is stored with."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = "// Adds two lines.\nint add(int a, int b) { return a + b; }  // exact\n"


def run_digest(root):
    script = root / "digest.cmake"
    script.write_text(
        f'cmake_minimum_required(VERSION 3.25)\nset(ROOT "{root}")\ninclude("{ROOT}/cmake/SourceDigest.cmake")\n'
        'digest_of_sources(kernels/one.cpp "flags -mavx" digest)\nmessage("${digest}")\n'
    )
    cmake = os.environ.get("PBPROBE_TEST_CMAKE") or ROOT / ".venv/bin/cmake"
    return subprocess.run([cmake, "-P", script], capture_output=True, text=True)


def digest(root, header):
    (root / "kernels").mkdir(exist_ok=True)
    (root / "kernels/one.cpp").write_text('#include "kernels/add.hpp"\n')
    (root / "kernels/add.hpp").write_text(header)
    run = run_digest(root)
    assert run.returncode == 0, run.stderr
    return run.stderr.strip()


@pytest.mark.parametrize(
    "edited",
    [
        HEADER.replace("Adds two lines.", "Returns the sum."),
        HEADER.replace("  // exact", ""),
        "\n" + HEADER.replace("{ return", "{\n  return"),
        HEADER.replace("a + b", "a  +\tb"),
    ],
)
def test_ignores_comments_and_white_space(tmp_path, edited):
    assert digest(tmp_path, edited) == digest(tmp_path, HEADER)


@pytest.mark.parametrize(
    "edited", [HEADER.replace("a + b", "a - b"), HEADER.replace("int b", "int c"), HEADER + "#define X 1\n"]
)
def test_counts_code(tmp_path, edited):
    assert digest(tmp_path, edited) != digest(tmp_path, HEADER)


@pytest.mark.parametrize("edited", ["/* block */\n" + HEADER, HEADER + 'const char* kUrl = "a//b";\n'])
def test_refuses_text_that_it_cannot_strip(tmp_path, edited):
    digest(tmp_path, HEADER)
    (tmp_path / "kernels/add.hpp").write_text(edited)
    run = run_digest(tmp_path)
    assert run.returncode != 0
    assert "add.hpp: a kernel source has only // comments" in " ".join(run.stderr.split())
