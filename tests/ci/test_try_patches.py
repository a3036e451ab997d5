# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""tools/try-patches: what applies, what does not and why; the tree stays as it was."""

import pathlib
import shutil
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "tools/try-patches"
LINES = [f"line {number}" for number in range(1, 31)]

pytestmark = pytest.mark.skipif(not shutil.which("patch"), reason="no patch program")


@pytest.fixture
def source(tmp_path):
    (tmp_path / "source/cmake").mkdir(parents=True)
    (tmp_path / "source/cmake/cuda.cmake").write_text("\n".join(LINES) + "\n")
    return tmp_path / "source"


def write_patch(folder, name="one.patch", file="cmake/cuda.cmake", at=10, before="line 12", after="changed"):
    """A patch of the line `at` + 2, between its neighbours."""
    context = [f" line {number}" for number in range(at, at + 5)]
    context[2:3] = [f"-{before}", f"+{after}"]
    head = f"--- a/{file}\n+++ b/{file}\n@@ -{at},5 +{at},5 @@\n"
    (folder / name).write_text(head + "\n".join(context) + "\n")
    return folder / name


def tried(source, *patches):
    done = subprocess.run([sys.executable, PROGRAM, source, *patches], capture_output=True, text=True, check=False)
    assert (source / "cmake/cuda.cmake").read_text() == "\n".join(LINES) + "\n"
    assert [file.name for file in source.rglob("*") if file.is_file()] == ["cuda.cmake"]
    return done


def test_accepts_patch_that_applies(tmp_path, source):
    done = tried(source, write_patch(tmp_path))
    assert (done.returncode, done.stdout) == (0, "one.patch: applies\n")


def test_reports_patch_that_applies_elsewhere(tmp_path, source):
    moved = write_patch(tmp_path)
    moved.write_text(moved.read_text().replace("@@ -10,5 +10,5 @@", "@@ -4,5 +4,5 @@"))
    done = tried(source, moved)
    assert (done.returncode, done.stdout) == (0, "one.patch: applies at other lines\n")


def test_names_failing_patch_and_tries_others(tmp_path, source):
    wrong = write_patch(tmp_path, name="wrong.patch", before="another line")
    done = tried(source, wrong, write_patch(tmp_path))
    assert done.returncode == 1
    assert done.stdout == "wrong.patch: does not apply: 1 out of 1 hunk in cmake/cuda.cmake\none.patch: applies\n"


def test_rejects_patch_that_is_applied_already(tmp_path, source):
    done = tried(source, write_patch(tmp_path, before="not there", after="line 12"))
    assert (done.returncode, "does not apply" in done.stdout) == (1, True)


def test_rejects_patch_for_missing_file(tmp_path, source):
    done = tried(source, write_patch(tmp_path, file="cmake/EnvVarForwarding.cmake"))
    assert (done.returncode, done.stdout) == (1, "one.patch: no such file: cmake/EnvVarForwarding.cmake\n")


def test_exits_with_2_if_it_cannot_run(tmp_path, source):
    patch = write_patch(tmp_path)
    assert subprocess.run([sys.executable, PROGRAM, tmp_path / "none", patch], check=False).returncode == 2
    assert tried(source, tmp_path / "none.patch").returncode == 2
    patch.write_text("--- a/cmake/cuda.cmake\n+++ b/cmake/cuda.cmake\n@@ nonsense @@\n")
    assert tried(source, patch).returncode == 2
