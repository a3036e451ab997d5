# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Inputs of a build: pinned by hash, listed with their licence, and released with notes."""

import hashlib
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HASHED = sorted(ROOT.glob("cmake/requirements-*.txt"))
VERSIONS = dict(re.findall(r"^([A-Za-z0-9_.-]+)==(\S+)", (ROOT / "cmake/requirements.txt").read_text(), re.MULTILINE))
# Not in the program or the package: what builds, packs and looks at them, and what a torch needs to run.
TOOLS = {"build": {"cmake", "ninja"}} | dict.fromkeys(("wheel", "pages", "test", "lint", "docs", "clients", "peers"))


def entries(file):
    """{name: (version, its hashes)} of a file that pip takes by hash."""
    joined = file.read_text().replace("\\\n", " ")
    found = {}
    for line in joined.splitlines():
        if line.strip() and not line.startswith("#"):
            name, version = re.match(r"([A-Za-z0-9_.-]+)==([^\s;]+)", line).groups()
            found[name] = (version, re.findall(r"--hash=sha256:([0-9a-f]{64})", line))
    return found


@pytest.mark.parametrize("file", HASHED, ids=lambda file: file.stem)
def test_pins_hash_and_version_of_each_file(file):
    for name, (version, hashes) in entries(file).items():
        assert hashes, name
        assert version == VERSIONS.get(name, version)


def test_set_up_installs_only_by_hash():
    script = (ROOT / "cmake/bootstrap.sh").read_text()
    commands = [line for line in script.splitlines() if "-m pip install" in line]
    assert len(commands) == 2
    assert [line for line in commands if "--require-hashes --no-deps -r" not in line] == []
    installed = re.findall(r"\binstall_(?:locked|by_hash) ([a-z]+)\b", script)
    assert {f"requirements-{name}" for name in installed} == {file.stem for file in HASHED}


def test_lists_every_version_in_one_hash_file():
    """All of them are installed into one environment."""
    versions = {}
    for file in HASHED:
        for name, (version, _) in entries(file).items():
            versions.setdefault(name, set()).add(version)
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}
    assert set(VERSIONS) - set(versions) == set()


def test_rejects_file_with_wrong_hash(tmp_path):
    wheel = tmp_path / "one-1.0-py3-none-any.whl"
    script = "import sys, zipfile\nwith zipfile.ZipFile(sys.argv[1], 'w') as z:\n"
    for name, text in (
        ("METADATA", "Metadata-Version: 2.1\\nName: one\\nVersion: 1.0\\n"),
        ("WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"),
        ("RECORD", ""),
    ):
        script += f"    z.writestr('one-1.0.dist-info/{name}', '{text}')\n"
    subprocess.run([sys.executable, "-c", script, wheel], check=True)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-index",
        "--find-links",
        tmp_path,
    ]
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    for stated, code in ((digest, 0), ("0" * 64, 1)):
        (tmp_path / "requirements.txt").write_text(f"one==1.0 --hash=sha256:{stated}\n")
        words = [*pip, "--require-hashes", "--no-deps", "--dry-run", "-r", tmp_path / "requirements.txt"]
        assert subprocess.run(words, capture_output=True, check=False).returncode == code


def test_lists_licence_of_each_part():
    listed = set(re.findall(r"`([^`]+)`", (ROOT / "docs/licenses.md").read_text()))
    parts = set((ROOT / "cmake/debian-libraries.txt").read_text().split())
    for file in HASHED:
        name = file.stem.removeprefix("requirements-")
        if name == "torch":
            parts.add("torch")
        elif name not in TOOLS or TOOLS[name] is not None:
            parts |= set(entries(file)) - (TOOLS.get(name) or set())
    assert parts - listed == set()


def test_changelog_has_notes_for_version():
    version = re.search(r"project\(pbprobe VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == version
    notes = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1]
    assert len(re.findall(r"^- ", notes, re.MULTILINE)) > 0
