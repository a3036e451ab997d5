# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The PATH of .ci/run: what the set-up installs is on it, whole and working; what a machine has besides is not."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEEDS = ["build", "test", "torch", "lint", "asan", "cross", "nix"]
MODULE = types.ModuleType("clean_path")
exec(compile((ROOT / "ci/clean-path").read_text(), "ci/clean-path", "exec"), MODULE.__dict__)

pytestmark = pytest.mark.skipif(not shutil.which("dpkg-query"), reason="needs Debian's packages")


def clean_path(folder, *needs, path=None):
    environment = {**os.environ, "PATH": path or os.environ["PATH"]}
    subprocess.run([sys.executable, ROOT / "ci/clean-path", folder, *needs], check=True, env=environment)
    return folder


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return clean_path(tmp_path_factory.mktemp("clean") / "path", *NEEDS)


def cmake():
    return os.environ.get("PBPROBE_TEST_CMAKE") or ROOT / ".venv/bin/cmake"


def run(path, *command, **options):
    environment = {"PATH": str(path), "HOME": os.environ.get("HOME", "/")}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, **options)


def test_links_programs_of_bare_system(path):
    for name in ("sh", "bash", "env", "sed", "tar", "make", "git", "python3", "openssl", "apt-get", "dpkg-query"):
        assert (path / name).exists(), name


# Programs that exist only through update-alternatives: no package has a file of that name.
def test_links_alternatives(path):
    assert run(path, "awk", "BEGIN { print 6 * 7 }").stdout == "42\n"
    assert (path / "which").exists() == pathlib.Path("/usr/bin/which").exists()


def test_links_system_python(path):
    reported = run(path, "python3", "-c", "import json, sys; print(sys.prefix)")
    assert (reported.returncode, reported.stdout) == (0, "/usr\n")


@pytest.mark.parametrize("compiler", ["c++", "g++", "clang++", "aarch64-linux-gnu-g++"])
def test_compiler_finds_its_parts(path, tmp_path, compiler):
    if not (path / compiler).exists():
        pytest.skip(f"{compiler} is not installed: make setup, make check")
    source = tmp_path / "a.cpp"
    source.write_text('#include <iostream>\nint main() { std::cout << "computed\\n"; }\n')
    built = run(path, compiler, "-static", source, "-o", tmp_path / "a")
    assert built.returncode == 0, built.stderr
    emulator = []
    if compiler.startswith("aarch64") and platform.machine() != "aarch64":
        if not (path / "qemu-aarch64-static").exists():
            return
        emulator = ["qemu-aarch64-static"]
    assert run(path, *emulator, tmp_path / "a").stdout == "computed\n"


# Whatever the machine has, only files of packages are linked, and those only that the set-up depends on.
def test_links_only_packaged_programs(path):
    targets = {os.path.realpath(link) for link in path.iterdir()}
    owned = set()
    for line in subprocess.run(
        ["dpkg-query", "-L", *packages()], capture_output=True, text=True, check=True
    ).stdout.splitlines():
        owned.add(os.path.realpath(line))
    assert targets - owned == set()


def packages():
    listed = subprocess.run(
        ["dpkg-query", "-W", "-f", "${binary:Package}\n"], capture_output=True, text=True, check=True
    )
    return listed.stdout.split()


def test_omits_programs_that_were_not_requested(tmp_path, path):
    less = clean_path(tmp_path / "path", "build")
    assert (less / "g++").exists() == (path / "g++").exists()
    assert not (less / "clang-tidy").exists()
    assert not (less / "shellcheck").exists()


def package(depends="", provides="", priority="optional"):
    return {"Pre-Depends": "", "Depends": depends, "Provides": provides, "Priority": priority, "Essential": "no"}


def test_links_alternative_that_apt_selects():
    packages = {
        "wanted": package("missing | first | second (>= 2), virtual, tool:any (= 1) [amd64]"),
        "first": package(),
        "second": package(),
        "by-hand": package(provides="virtual"),
        "standard": package("deep", provides="virtual (= 3)", priority="standard"),
        "deep": package(),
        "tool": package(),
        "other": package(),
    }
    assert MODULE.closure(packages, {"wanted", "absent"}) == {"wanted", "first", "standard", "deep", "tool"}


@pytest.fixture
def system(tmp_path, monkeypatch):
    """The only program folder of a machine. Its one package has `cc-1`, which is an alternative for `cc`."""
    folder = tmp_path / "usr/bin"
    folder.mkdir(parents=True)
    monkeypatch.setattr(MODULE, "FOLDERS", (str(folder),))
    program(folder / "cc-1")
    return folder


def program(path):
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


def linked(system, tmp_path):
    MODULE.link_programs(tmp_path / "path", {str(system / "cc-1")})
    return sorted(link.name for link in (tmp_path / "path").iterdir())


def test_skips_programs_without_package(system, tmp_path):
    program(system / "ninja")  # a program of no package, or of one that nothing depends on
    (system / "gcc").symlink_to(system / "cc-1")  # an alias of a good one
    assert linked(system, tmp_path) == ["cc-1"]


def test_replaces_its_own_path(system, tmp_path):
    assert linked(system, tmp_path) == ["cc-1"]
    program(system / "cc-2")
    MODULE.link_programs(tmp_path / "path", {str(system / "cc-1"), str(system / "cc-2")})
    assert (tmp_path / "path/cc-2").exists()


def test_links_alternative_to_installed_program(system, tmp_path, monkeypatch):
    monkeypatch.setattr(MODULE, "ALTERNATIVES", system)  # as /etc/alternatives is what cc points into
    program(system / "by-hand")
    (system / "cc").symlink_to(system / "by-hand")
    monkeypatch.setattr(MODULE, "list_alternatives", lambda name: [str(system / "by-hand"), str(system / "cc-1")])
    assert linked(system, tmp_path) == ["cc", "cc-1"]
    assert os.path.realpath(tmp_path / "path/cc") == str(system / "cc-1")


# CMake looks into the system's folders whatever PATH says; CMakeLists.txt tells it not to.
def test_cmake_finds_only_programs_in_path(tmp_path):
    rule = re.search(
        r"foreach\(folder /usr/local/sbin.*?endforeach\(\)", (ROOT / "CMakeLists.txt").read_text(), re.DOTALL
    )
    only = tmp_path / "path"
    only.mkdir()
    (only / "sh").symlink_to("/usr/bin/sh")
    script = tmp_path / "find.cmake"
    script.write_text(
        "set(CMAKE_SYSTEM_PREFIX_PATH /usr)\n"  # as a project has it
        f'{rule[0]}\nfind_program(a env)\nfind_program(b sh)\nmessage(STATUS "${{a}} ${{b}}")\n'
    )
    reported = run(only, cmake(), "-P", script)
    assert f"a-NOTFOUND {only}/sh" in reported.stdout, reported.stdout + reported.stderr
