# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ci/tidy: what makes it check a file again."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]


@pytest.fixture
def load(monkeypatch, tmp_path):
    """Returns a function that loads the script for a clone, whose files it writes."""
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "ccache"))
    monkeypatch.syspath_prepend(str(SOURCE / "ci"))

    def load(root):
        loader = importlib.machinery.SourceFileLoader("tidy", str(SOURCE / "ci/tidy"))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
        loader.exec_module(module)
        monkeypatch.setattr(module, "ROOT", root)
        (root / "core").mkdir(parents=True)
        for name in ("one.cpp", "one.hpp"):
            (root / "core" / name).write_text(name)
        return module

    return load


def find_mark(module, settings=b"", flags="-O2", output="one.o"):
    root = module.ROOT
    module.hash_file.cache_clear()
    entry = {"output": output, "file": f"{root}/core/one.cpp", "command": f"c++ {flags} -I{root} {root}/core/one.cpp"}
    return module.find_mark(entry, settings, {"one.o": [root / "core/one.cpp", root / "core/one.hpp"]})


def test_keeps_the_mark_in_another_clone(load, tmp_path):
    assert find_mark(load(tmp_path / "one")) == find_mark(load(tmp_path / "two"))


def test_changes_the_mark_with_each_input(load, tmp_path):
    module = load(tmp_path / "clone")
    marks = {find_mark(module), find_mark(module, settings=b"other checks"), find_mark(module, flags="-O3")}
    (module.ROOT / "core/one.hpp").write_text("changed  // NOLINT")
    marks.add(find_mark(module))
    assert len(marks) == 4


def test_finds_no_mark_for_a_file_unknown_to_ninja(load, tmp_path):
    assert find_mark(load(tmp_path / "clone"), output="other.o") is None


def test_reads_what_ninja_recorded(load, tmp_path, monkeypatch):
    module = load(tmp_path / "clone")
    program = tmp_path / "clone/.venv/bin/ninja"
    program.parent.mkdir(parents=True)
    program.write_text(
        f"#!{sys.executable}\nprint('''one.o: #deps 2, deps mtime 1 (VALID)\n    ../core/one.cpp\n    /usr/x.h\n\n"
        "old.o: #deps 1, deps mtime 1 (STALE)\n    ../core/old.cpp\n''')\n"
    )
    program.chmod(0o755)
    read = module.read_dependencies(module.ROOT / "build")
    assert read == {"one.o": [module.ROOT / "core/one.cpp", Path("/usr/x.h")]}


def test_checks_sources_and_their_batches_but_no_tests(load, tmp_path):
    module = load(tmp_path / "clone")
    build = module.ROOT / "build"
    batch = "CMakeFiles/all.dir/Unity/unity_0_cxx.cxx"
    asked = (
        "core/one.cpp",
        "tests/core/one_test.cpp",
        f"build/core/{batch}",
        f"build/tests/core/{batch}",
        "build/made.cpp",
    )
    found = [name for name in asked if module.is_checked(str(module.ROOT / name), build)]
    assert found == ["core/one.cpp", f"build/core/{batch}"]
    assert not module.is_checked("/usr/src/one.cpp", build)
