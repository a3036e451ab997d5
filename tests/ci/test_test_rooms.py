# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ci/test-rooms: which rooms a change affects, by what ninja knows of a small tree."""

import importlib.machinery
import importlib.util
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
ROOMS = ["cli", "core", "judge"]
DEPS = """core/x.o: #deps 2, deps mtime 1 (VALID)
    ../core/x.cpp
    ../core/x.hpp

probes/judge/Unity/0.o: #deps 2, deps mtime 1 (VALID)
    ../probes/judge/judge.cpp
    ../core/x.hpp
    /usr/include/stdio.h

tests/judge/judge_test.o: #deps 1, deps mtime 1 (VALID)
    ../tests/judge/judge_test.cpp
"""
INPUTS = {
    "tests/cli/all": [],
    "tests/core/all": ["core/x.o", "../core/x.cpp", "../recipes/targets.json"],
    "tests/judge/all": ["core/x.o", "probes/judge/Unity/0.o", "tests/judge/judge_test.o"],
    "pbprobe": ["core/x.o", "probes/judge/Unity/0.o", "../recipes/targets.json"],
    "pbprobe_python": ["../bindings/core.cpp"],
}  # fmt: skip


@pytest.fixture
def script(monkeypatch, tmp_path):
    loader = importlib.machinery.SourceFileLoader("test_rooms", str(SOURCE / "ci/test-rooms"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("test_rooms", loader))
    loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "BUILD", tmp_path / "build")
    for room in ROOMS:
        for folder in (tmp_path / "tests" / room, tmp_path / "build/tests" / room):
            folder.mkdir(parents=True)
            (folder / "CTestTestfile.cmake").touch()
    (tmp_path / "tests/cli/test_cli.py").touch()

    def ninja(program, *words):
        if words[2:4] == ("-t", "deps"):
            return DEPS
        assert words[2:4] == ("-t", "inputs")
        return "\n".join(name for target in words[4:] for name in INPUTS[target])

    monkeypatch.setattr(module, "output", ninja)
    return module


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("probes/judge/judge.cpp", ["cli", "judge"]),
        ("core/x.hpp", ["cli", "core", "judge"]),
        ("recipes/targets.json", ["cli", "core"]),
        ("bindings/core.cpp", ["cli"]),
        ("tests/judge/judge_test.cpp", ["judge"]),
        ("tests/judge/recorded/case.json", ["judge"]),
        ("tests/cli/test_cli.py", ["cli"]),
        ("tests/shared/made.py", ["cli"]),
        ("docs/gate.md", ["cli"]),
        ("cmake/Kernels.cmake", ["cli", "core", "judge"]),
        ("probes/judge/CMakeLists.txt", ["cli", "core", "judge"]),
    ],
)
def test_finds_the_rooms_that_a_file_affects(script, changed, expected):
    assert script.find_affected({changed}, ROOMS) == expected


def test_finds_no_room_without_a_change(script):
    assert script.find_affected(set(), ROOMS) == []


def test_builds_the_program_only_for_tests_in_python(script):
    assert script.list_targets("judge") == ["tests/judge/all"]
    assert script.list_targets("cli") == ["tests/cli/all", "pbprobe", "pbprobe_python"]


def test_refuses_an_unknown_room(script):
    with pytest.raises(SystemExit, match="no tests of kitchen: choose from cli core judge"):
        script.choose_rooms(["kitchen"], script.list_rooms())


def test_lists_committed_and_new_changes(script, monkeypatch, tmp_path):
    def git(*words):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True)

    monkeypatch.undo()
    monkeypatch.setattr(script, "ROOT", tmp_path)
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "branch")
    (tmp_path / "tests/cli/test_cli.py").write_text("changed")
    git("commit", "-qam", "two")
    (tmp_path / "new").touch()
    assert script.list_changed_files("main") == {"tests/cli/test_cli.py", "new"}
