# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Files and options that documents name exist."""

import re
import subprocess

import pytest
from conftest import SOURCE

DOCUMENTS = [
    SOURCE / "README.md",
    SOURCE / "CONTRIBUTING.md",
    SOURCE / "SECURITY.md",
    *sorted((SOURCE / "docs").rglob("*.md")),
]
MADE_UP = re.compile(r"/(sm122|avx10)\b")  # the guide's examples of targets to add
FOLDERS = r"(?:core|kernels|probes|bindings|recipes|cmake|tests|ci|\.ci|docs)"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_named_paths_exist(document):
    named = re.findall(rf"`({FOLDERS}/[\w./-]+)`", document.read_text())
    absent = [path for path in named if not (SOURCE / path).exists() and not MADE_UP.search(path)]
    assert absent == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_links_lead_somewhere(document):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", re.sub(r"`[^`]*`", "", document.read_text()))
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_named_make_targets_exist(document):
    makefile = (SOURCE / "Makefile").read_text()
    named = set(re.findall(r"`make ([a-z]+)", document.read_text()))
    assert {name for name in named if not re.search(rf"^{name}:", makefile, re.MULTILINE)} == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_ctest_is_the_one_that_make_installs_and_never_finds_none(document):
    """Other users have no other ctest; a run that finds no test must fail."""
    shown = re.findall(r"^.*\bctest -L.*$", document.read_text(), re.MULTILINE)
    assert [line for line in shown if not re.search(r"\.venv/bin/ctest -L '\S+' --no-tests=error", line)] == []


def test_make_help_names_every_target():
    shown = subprocess.run(["make", "-s", "help"], cwd=SOURCE, capture_output=True, text=True, check=True).stdout
    targets = re.search(r"^\.PHONY: (.*)$", (SOURCE / "Makefile").read_text(), re.MULTILINE)[1].split()
    assert [name for name in targets if name != "help" and name not in shown] == []


def test_names_the_licence_of_each_compiled_library():
    libraries = (SOURCE / "cmake/debian-libraries.txt").read_text().split("\n")
    named = set(re.findall(r"`([\w-]+)`", (SOURCE / "docs/licenses.md").read_text()))
    assert {line for line in libraries if line and not line.startswith("#")} - named == set()
