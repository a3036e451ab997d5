# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Tests of ci/plain-english: every pattern finds its example, and the limit can only decrease."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ci"))

from plain_english_patterns import PATTERNS, has_verb  # noqa: E402  (imported from ci/)

BAD = "// Of this machine.\n"
GOOD = "// Returns the CPUs.\n"


def run(folder, *arguments):
    command = [sys.executable, ROOT / "ci/plain-english", folder, *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def git(folder, *arguments):
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    """A checkout with one hit of `opener` and one of `of-first`, and the committed limit 2."""
    git(tmp_path, "init", "-q")
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci/plain-english.limit").write_text("2\n")
    (tmp_path / "a.cpp").write_text(BAD)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "limit")
    return tmp_path


def matches(name, text):
    return not has_verb(text) if name == "test-no-verb" else bool(PATTERNS[name].regex.search(text))


@pytest.mark.parametrize("name", PATTERNS)
def test_finds_example_of_pattern(name):
    example = PATTERNS[name].example
    assert example.kind in PATTERNS[name].kinds
    assert matches(name, example.bad)
    assert not matches(name, example.good)


def test_accepts_count_at_limit(checkout):
    done = run(checkout)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("2 hits, limit 2\n")


def test_rejects_count_above_limit(checkout):
    (checkout / "a.cpp").write_text(BAD + "\n" + BAD)
    done = run(checkout)
    assert done.returncode == 1
    assert "4 hits exceed the limit 2" in done.stdout


def test_rejects_raised_limit(checkout):
    (checkout / "ci/plain-english.limit").write_text("9\n")
    git(checkout, "commit", "-qam", "raise")
    done = run(checkout)
    assert done.returncode == 1
    assert "raised from 2 to 9" in done.stdout


def test_lowers_limit(checkout):
    (checkout / "a.cpp").write_text(GOOD)
    assert run(checkout).stdout.endswith("0 hits, limit 2: lower the limit with ci/plain-english --lower\n")
    assert run(checkout, "--lower").returncode == 0
    assert (checkout / "ci/plain-english.limit").read_text() == "0\n"


def test_lower_refuses_to_raise_limit(checkout):
    (checkout / "a.cpp").write_text(BAD + "\n" + BAD)
    assert run(checkout, "--lower").returncode == 1
    assert (checkout / "ci/plain-english.limit").read_text() == "2\n"


@pytest.mark.parametrize(
    "file, text, hits",
    [
        ("b.hpp", '  FIELD(std::string, path, "of the file");\n', "b.hpp:1: opener: of the file"),
        ("b.cpp", 'say("the library is not there");\n', "b.cpp:1: is-there: the library is not there"),
        ("b.py", '"""What is read."""\n', "b.py:1: opener: What is read."),
        ("b.md", "The record lies\nbeside it.\n", "b.md:1: stands-lies: The record lies beside it."),
        ("b.sh", "# Nobody reads it.\n", "b.sh:1: opener: Nobody reads it."),
        (
            "b_test.cpp",
            "TEST(Header, ATruncatedOneIsRejected) {\n",
            "b_test.cpp:1: test-opener: Header.ATruncatedOneIsRejected",
        ),
    ],
)
def test_lists_hits_of_each_language(checkout, file, text, hits):
    (checkout / file).write_text(text)
    git(checkout, "add", ".")
    assert hits in run(checkout, "--list", "all", "--only", file).stdout.splitlines()


@pytest.mark.parametrize("file", ["b.md", "b.cpp"])
def test_ignores_code(checkout, file):
    (checkout / file).write_text("```\nWhat is read.\n```\n" if file == "b.md" else "int of = 1;  // unit: ms\n")
    git(checkout, "add", ".")
    assert run(checkout, "--list", "all", "--only", file).stdout == ""


def test_project_keeps_its_limit():
    done = run(ROOT)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout.splitlines()[-1]
