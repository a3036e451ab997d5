# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ci/unchanged in a small tree: the command runs again after a change of any kind of input, and only then."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
RAN, SKIPPED = "ran\n", "unchanged: part passed on this machine with the same inputs (FORCE=1 runs it)\n"


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


class Tree:
    """A clone with the script, on a machine whose tools are stand-ins."""

    def __init__(self, root: Path, machine: Path):
        self.root = root
        self.machine = machine
        self.variables = {
            "PATH": f"{machine}/bin:/usr/bin:/bin",
            "CCACHE_DIR": f"{machine}/ccache",
            "HOME": f"{machine}",
        }
        for name in ("unchanged", "kept.py"):
            (root / "ci").mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / "ci" / name, root / "ci" / name)
        files = {
            "ci/check": "parts",
            "cmake/requirements-test.txt": "pytest==1",
            "core/one.cpp": "one",
            "core/two.cpp": "two",
            "docs/page.md": "page",
            "build/setup/configured": f"-DPBPROBE_NVCC={root}/.venv/nvcc",
            "build/setup/torch": f"{root}/.venv/lib/python3.11/site-packages/torch\n",
            ".venv/lib/python3.11/site-packages/torch/version.py": "__version__ = '2.11.0'",
            ".venv/lib/python3.11/site-packages/pytest-1.dist-info/METADATA": "",
            ".gitignore": "/build/\n/.venv\n__pycache__/\n",
        }
        for name, text in files.items():
            self.write(name, text)
        for command in (["init", "-q"], ["add", "."]):
            subprocess.run(["git", *command], cwd=root, check=True)
        if not (machine / "bin").exists():
            self.install("c++ 12", "g++ 12.2 installed")

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def install(self, compiler: str, packages: str) -> None:
        program(self.machine / "bin/c++", f"echo {compiler}")
        program(self.machine / "bin/dpkg-query", f"echo {packages}")

    def run(self, *options: str, command=("echo", "ran"), **variables: str) -> subprocess.CompletedProcess:
        words = [sys.executable, self.root / "ci/unchanged", "part", *options, ".", ":(exclude)docs", "--", *command]
        return subprocess.run(
            words, cwd=self.root, capture_output=True, text=True, check=False, env=self.variables | variables
        )


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Makes a tree with a part that passed."""
    folder = tmp_path_factory.mktemp("tree")
    tree = Tree(folder / "clone", folder / "machine")
    assert tree.run().stdout == RAN
    assert tree.run().stdout == SKIPPED
    return tree


CHANGES = {
    "a file's content": lambda tree: tree.write("core/one.cpp", "two"),
    "a file's mode": lambda tree: (tree.root / "core/one.cpp").chmod(0o755),
    "a new file": lambda tree: tree.write("core/new.cpp", ""),
    "a removed file": lambda tree: (tree.root / "core/two.cpp").unlink(),
    "the part itself": lambda tree: tree.write("ci/check", "other parts"),
    "a pinned package": lambda tree: tree.write("cmake/requirements-test.txt", "pytest==2"),
    "an option of the build": lambda tree: tree.write("build/setup/configured", "-DPBPROBE_NVCC=/opt/nvcc"),
    "the version of torch": lambda tree: tree.write(".venv/lib/python3.11/site-packages/torch/version.py", "2.12"),
    "an installed distribution": lambda tree: (
        tree.root / ".venv/lib/python3.11/site-packages/pytest-1.dist-info"
    ).rename(tree.root / ".venv/lib/python3.11/site-packages/pytest-2.dist-info"),
    "a compiler": lambda tree: tree.install("c++ 13", "g++ 12.2 installed"),
    "a Debian package": lambda tree: tree.install("c++ 12", "g++ 12.3 installed"),
    "a variable of the tests": lambda tree: tree.variables.update(PBPROBE_REQUIRE_NIX="1"),
    "a variable of the compilers": lambda tree: tree.variables.update(CXXFLAGS="-O3"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_runs_after_a_change_of_an_input(tree, change):
    change(tree)
    assert tree.run().stdout == RAN


def test_skips_after_a_change_of_an_excluded_file(tree):
    tree.write("docs/page.md", "another page")
    assert tree.run(PBPROBE_CI_START="17", TERM="xterm").stdout == SKIPPED


def test_runs_another_command(tree):
    assert tree.run(command=("echo", "also", "ran")).stdout == "also ran\n"


def test_skips_in_another_clone(tree, tmp_path):
    machine = tmp_path / "machine"
    assert Tree(tmp_path / "clone", machine).run().stdout == RAN
    assert Tree(tmp_path / "elsewhere/clone", machine).run().stdout == SKIPPED


def test_runs_if_forced(tree):
    assert tree.run(FORCE="1").stdout == RAN


def test_ignores_the_configuration_of_a_part_without_build(tree):
    tree.run("--sources")
    tree.write("build/setup/configured", "-DPBPROBE_NVCC=/opt/nvcc")
    assert tree.run("--sources").stdout == SKIPPED


def test_runs_again_after_a_failure(tree):
    failing = ("sh", "-c", "echo ran; exit 3")
    for _ in range(2):
        done = tree.run(command=failing)
        assert (done.returncode, done.stdout) == (3, RAN)


def test_tells_a_skip_from_a_failure_by_its_exit_code(tree):
    code = ("--skipped-code", "77")
    assert tree.run(*code).returncode == 77
    assert tree.run(*code, command=("sh", "-c", "exit 77")).returncode == 1


def test_runs_again_if_an_input_changed_meanwhile(tree):
    changing = ("sh", "-c", "date +%N >core/one.cpp; echo ran")
    assert [tree.run(command=changing).stdout for _ in range(2)] == [RAN, RAN]


@pytest.mark.parametrize("read, code", [("../core/one.cpp", 0), ("../docs/page.md", 1), ("made.hpp", 0)])
def test_refuses_unnamed_inputs_of_ninja(tree, read, code):
    tree.write("build/made.hpp", "")
    stale = "old.o: #deps 1\\n    ../docs/page.md\\n\\n"  # of another target
    program(
        tree.root / ".venv/bin/ninja",
        f'[ "$4" = deps ] && printf "{stale}one.o: #deps 1\\n    {read}\\n" || echo one.o',
    )
    done = tree.run("--build", "build:all", command=("echo", read))
    assert done.returncode == code
    assert ("docs/page.md" in done.stderr) == (code == 1)
    assert tree.run("--build", "build:all", command=("echo", read)).returncode == code


def test_finds_files_for_every_part():
    """Also requires a file for each exclusion, so that no exclusion names a renamed folder."""
    assert os.access(SOURCE / "ci/check", os.X_OK)
    text = (SOURCE / "ci/check").read_text()
    parts = text.partition("all_parts=(")[2].partition(")")[0].split()[1:]
    names = "; ".join(f'echo "$(inputs_of {part})"' for part in parts if part != "budget")
    functions = text[text.index("# Files that decide") : text.index("# run_if_changed PART")]
    done = subprocess.run(["bash", "-euc", functions + names], cwd=SOURCE, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(parts) - 1
    for spec in {word for line in lines for word in line.split() if word.startswith(":(exclude")}:
        name = spec.partition(")")[2]
        assert list(SOURCE.glob(name)), spec
