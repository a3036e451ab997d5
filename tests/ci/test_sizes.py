# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ci/sizes: a file or a function that is too long is found; a table, a kernel and one of the allowed length are not."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def list_overruns(folder, name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    subprocess.run(["git", "init", "-q", folder], check=True)
    done = subprocess.run([sys.executable, ROOT / "ci/sizes", folder], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (1 if lines else 0, "")
    return [line.partition(" ")[0] for line in lines]


def cpp(lines, signature="int f(int a) {", indent=""):
    """A function of that many lines."""
    body = [f"{indent}  if (a > {i}) {{ a -= {i}; }}" for i in range(lines - 2)]
    return "\n".join(["namespace n {", "", indent + signature, *body, indent + "}", "", "}  // namespace n", ""])


@pytest.mark.parametrize("lines, found", [(60, []), (61, ["core/a.cpp:3:"])])
def test_measures_cpp_functions(tmp_path, lines, found):
    assert list_overruns(tmp_path, "core/a.cpp", cpp(lines)) == found


def test_counts_signature_of_two_lines(tmp_path):
    text = cpp(60).replace("int f(int a) {", "int f(int a,\n      int b) {")
    assert list_overruns(tmp_path, "core/a.cpp", text) == ["core/a.cpp:3:"]


def test_measures_members(tmp_path):
    assert list_overruns(tmp_path, "core/a.hpp", cpp(61, indent="  ").replace("namespace n {", "struct S {")) == [
        "core/a.hpp:3:"
    ]


def test_skips_classes(tmp_path):
    members = "\n".join(f"  int m{i}() {{ return {i}; }}" for i in range(100))
    assert list_overruns(tmp_path, "core/a.hpp", f"struct S {{\n{members}\n}};\n") == []


def test_skips_tables(tmp_path):
    rows = "\n".join(f"      {{{i}, {i}}}," for i in range(100))
    assert list_overruns(tmp_path, "core/a.cpp", f"std::vector<Row> rows() {{\n  return {{\n{rows}\n  }};\n}}\n") == []


@pytest.mark.parametrize("name", ["kernels/cuda/a.cuh", "kernels/cpu/a.hpp"])
def test_skips_kernels(tmp_path, name):
    assert list_overruns(tmp_path, name, cpp(600)) == []


def test_measures_functions_that_launch_kernels(tmp_path):
    assert list_overruns(tmp_path, "kernels/cuda/host/a.cpp", cpp(61)) == ["kernels/cuda/host/a.cpp:3:"]


@pytest.mark.parametrize("lines, found", [(60, []), (61, ["ci/a.py:1:"])])
def test_measures_python_functions(tmp_path, lines, found):
    assert list_overruns(tmp_path, "ci/a.py", "def f(a):\n" + "    a += 1\n" * (lines - 1)) == found


def test_measures_shell_functions(tmp_path):
    assert list_overruns(tmp_path, "ci/a", "#!/bin/sh\nf() {\n" + "  echo\n" * 60 + "}\n") == ["ci/a:2:"]


@pytest.mark.parametrize("lines, found", [(500, []), (501, ["core/a.cpp:"])])
def test_measures_files(tmp_path, lines, found):
    assert list_overruns(tmp_path, "core/a.cpp", "int a;\n" * lines) == found
