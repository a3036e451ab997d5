# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""pbprobe.1 is generated from --help: it has every command, option and example."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PBPROBE_TEST_BUILD", SOURCE / "build"))
PROGRAM = BUILD / "bin/pbprobe"


def read_help_text(*commands):
    return subprocess.run([PROGRAM, *commands, "--help"], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    file = tmp_path_factory.mktemp("manual") / "pbprobe.1"
    subprocess.run([sys.executable, SOURCE / "cmake/man_page.py", PROGRAM, file], check=True)
    return file


def plain(page):
    return page.read_text().replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")


@pytest.mark.parametrize("command", ["report", "host", "audit", "gate", "verify", "bench", "recipes write"])
def test_manual_has_every_option_and_example(page, command):
    text = plain(page)
    section = text[text.index(f".SS pbprobe {command}\n") :]
    section = section[: section.find(".SS ", 4)]
    shown = read_help_text(*command.split())
    options = set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", shown, re.MULTILINE))
    assert options
    assert {option for option in options if option not in section} == set()
    for example in re.findall(r"^  (pbprobe .*)$", shown, re.MULTILINE):
        assert example in section


def test_manual_has_every_command(page):
    text = plain(page)
    commands = re.findall(r"^  (\w+) {2,}\S", read_help_text().split("Subcommands:")[1], re.MULTILINE)
    assert len(commands) > 5
    for command in commands:
        assert f".SS pbprobe {command}\n" in text


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_it_is_lawful_roff(page):
    shown = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True, check=True)
    assert shown.stderr == ""
    assert "Does this PyTorch build deliver" in shown.stdout


def test_it_is_built_and_installed(tmp_path):
    built = BUILD / "share/man/man1/pbprobe.1"
    if not built.exists():
        pytest.skip("not built: `make build` makes it")
    cmake = [shutil.which("cmake") or SOURCE / ".venv/bin/cmake", "--install", BUILD, "--component", "program"]
    subprocess.run([*cmake, "--prefix", tmp_path], check=True, capture_output=True)
    assert (tmp_path / "share/man/man1/pbprobe.1").read_bytes() == built.read_bytes()
