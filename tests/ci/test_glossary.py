# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""ci/glossary: words that docs/glossary.md replaces are found everywhere, except for legitimate uses."""

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_glossary(folder, files):
    """Numbers of the lines that are found, by file."""
    (folder / "docs").mkdir()
    shutil.copy(ROOT / "docs/glossary.md", folder / "docs")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    subprocess.run(["git", "init", "-q", folder], check=True)
    done = subprocess.run([sys.executable, ROOT / "ci/glossary", folder], capture_output=True, text=True)
    lines = [line.split(":") for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (1 if lines else 0, "")
    return [(file, int(number)) for file, number, *_ in lines]


@pytest.mark.parametrize(
    "file, line",
    [
        ("probes/audit/a.cpp", "// The image for sm_90.\n"),
        ("core/facts/a.hpp", "std::optional<DeviceCode> own_images;\n"),
        ("docs/a.md", "| least CPU |\n"),
        ("probes/report/a.json", '{"least_cpu": "avx2"}\n'),
        ("probes/judge/a.cpp", 'fmt::format("the {} tier", name);\n'),
        ("README.md", "      fix     nothing to mend\n"),
        ("recipes/a.md", "It computes a product right.\n"),
        ("probes/cli/a.cpp", '"sm_90, made for it"\n'),
        ("tests/a.cpp", "TEST(A, FilesAloneAreJudged) {\n"),
        ("tests/a.py", "# By the files alone.\n"),
        ("probes/cli/b.cpp", '"{} is no artifact"\n'),
        ("ci/a", "said = run()\n"),
        ("docs/b.md", "Both run by turns.\n"),
        ("probes/process/a.hpp", "struct Cage {};\n"),
        ("probes/process/cage.hpp", "\n"),
    ],
)
def test_finds_planted_word(tmp_path, file, line):
    number = 0 if "cage" in file else 3  # of its name, else of the line
    assert run_glossary(tmp_path, {file: "\n\n" + line}) == [(file, number)]


@pytest.mark.parametrize(
    "line",
    [
        "CUDA error: no kernel image is available for execution on the device",
        "a container image of the toolchain",
        "There is no such check; it is no longer asked, and no build is no faster.",
        "git commit --amend, and what he recommends",
        "to the right, and right now",
        "a standalone program",
        "std::vector<std::string> aloneness",
    ],
)
def test_accepts_legitimate_use(tmp_path, line):
    assert run_glossary(tmp_path, {"docs/a.md": line + "\n", "CHANGELOG.md": "Once it was said.\n"}) == []


def test_tree_follows_glossary():
    done = subprocess.run([sys.executable, ROOT / "ci/glossary"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
