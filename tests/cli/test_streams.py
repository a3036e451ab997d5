# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Standard streams that are closed, and outputs that name what is judged."""

import shutil
import subprocess

import pytest
from gated import CLAIM
from test_cli import PROGRAM, run

COULD_NOT_RUN = 2


@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", "<&-", "2>&-", "<&- 2>&-"])
@pytest.mark.parametrize("command", ["gate ARTIFACT --claim CLAIM", "gate ARTIFACT --claim nonsense", "audit ARTIFACT"])
def test_does_not_abort_without_streams(sound, closed, command):
    words = command.replace("ARTIFACT", str(sound)).replace("CLAIM", CLAIM)
    ended = subprocess.run(["bash", "-c", f"exec {PROGRAM} {words} {closed}"], capture_output=True, check=False)
    assert ended.returncode in (0, 1, COULD_NOT_RUN)


def test_fails_if_the_result_cannot_be_written(sound):
    ended = subprocess.run(["bash", "-c", f"exec {PROGRAM} gate {sound} --claim {CLAIM} >&-"], check=False)
    assert ended.returncode == COULD_NOT_RUN


@pytest.mark.parametrize("words", ["--help", "--version", "audit --help", ""])
def test_fails_if_the_help_cannot_be_written(words):
    ended = subprocess.run(
        ["bash", "-c", f"exec {PROGRAM} {words} >/dev/full"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == COULD_NOT_RUN
    assert "standard output cannot be written" in ended.stderr
    assert subprocess.run([PROGRAM, "--help"], capture_output=True, check=False).returncode == 0


OPTIONS = ["--output", "--sarif", "--junit", "--markdown"]


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("by_link", [False, True])
def test_refuses_to_overwrite_the_judged_wheel(wheel, tmp_path, option, by_link):
    before = wheel.read_bytes()
    named = tmp_path / "link"
    if by_link:
        named.symlink_to(wheel)
    ended = run("gate", wheel, "--claim", CLAIM, option, named if by_link else wheel)
    assert ended.returncode == COULD_NOT_RUN
    assert "is a part of what is judged" in ended.stderr
    assert wheel.read_bytes() == before


@pytest.mark.parametrize("command", [("gate", "--claim", CLAIM), ("audit",)])
@pytest.mark.parametrize("option", OPTIONS)
def test_refuses_an_output_in_the_judged_folder(sound, command, option):
    inside = sound / "torch/new.txt"
    ended = run(command[0], sound, *command[1:], option, inside)
    assert ended.returncode == COULD_NOT_RUN
    assert "is a part of what is judged" in ended.stderr
    assert not inside.exists()


def test_refuses_to_overwrite_a_library_outside_the_judged_folder(sound, tmp_path):
    """Nix has the libraries in another output."""
    library = tmp_path / "libc10.so"
    shutil.copy(sound / "torch/lib/libc10.so", library)
    for arguments in (("gate", sound, "--claim", CLAIM), ("audit", sound), ("compare", sound, sound)):
        ended = run(*arguments, "--output", library)
        assert (ended.returncode, "is a program, a library" in ended.stderr) == (COULD_NOT_RUN, True)
    assert library.read_bytes() == (sound / "torch/lib/libc10.so").read_bytes()


def test_refuses_an_output_in_a_compared_folder(sound):
    ended = run("compare", sound, sound, "--output", sound / "torch/new.txt")
    assert (ended.returncode, "is a part of what is judged" in ended.stderr) == (COULD_NOT_RUN, True)


def test_writes_an_output_next_to_the_artifact(sound, tmp_path):
    assert run("gate", sound, "--claim", CLAIM, "--output", tmp_path / "out.txt").returncode == 0
    assert (tmp_path / "out.txt").read_text()
