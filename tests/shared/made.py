# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Cache of compiler, linker and nvcc output, for every clone on this machine. The name of a file is the digest of its
inputs.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import NoReturn

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "ci"))
import kept as kept_for_clones

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PBPROBE_TEST_BUILD", SOURCE / "build"))
PROGRAM = BUILD / "bin/pbprobe"
MADE = kept_for_clones.folder() / "pbprobe/made"
MACHINE = os.uname().machine
OUT = "@OUT@"  # in a command: the file that it writes
IN = "@IN@"  # end of a word: the last path of the command replaces it


def skip(reason: str) -> NoReturn:
    """Skips the test. The cross build runs scripts that import this module with a Python without pytest."""
    import pytest

    pytest.skip(reason)


def compiler(machine: str, kind: str = "g++") -> str:
    """Returns the compiler of this machine, or the cross compiler."""
    if machine == MACHINE:
        return "c++" if kind == "g++" else "cc"
    name = f"{machine}-linux-gnu-{kind}"
    return shutil.which(name) or skip(f"no {name}")


@functools.cache
def nvcc() -> str:
    found = os.environ.get("PBPROBE_TEST_NVCC") or shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    return found or skip("no nvcc: `make build TARGETS=all` installs it")


@functools.cache
def cuda_release() -> str:
    """Returns the version of nvcc: "13.0"."""
    return re.search(r"release (\d+\.\d+)", read_version_text(nvcc()))[1]


@functools.cache
def read_version_text(program: str) -> str:
    """Returns the version text of a program, as an input of the digest."""
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout


@functools.cache
def compute_digest(path: pathlib.Path) -> str:
    return path.name + " " + hashlib.sha256(path.read_bytes()).hexdigest()


def kept(name: str, digest: hashlib._Hash, write) -> pathlib.Path:
    """Returns the file `name` of that digest; calls `write` if it is missing. Safe for concurrent callers."""
    folder = MADE / digest.hexdigest()[:32]
    if not folder.exists():
        MADE.mkdir(parents=True, exist_ok=True)
        fresh = pathlib.Path(tempfile.mkdtemp(dir=MADE, prefix="fresh-"))
        try:
            write(fresh / name)
            fresh.rename(folder)
        except OSError:
            if not folder.exists():  # else another process was first
                raise
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return folder / name


def text(name: str, content: str) -> pathlib.Path:
    """A file with that text."""
    return kept(name, hashlib.sha256(f"{name}\0{content}".encode()), lambda file: file.write_text(content))


def made(name: str, *command: str | pathlib.Path) -> pathlib.Path:
    """Returns the output OUT of the command, as a file called `name`. Its inputs are the paths in the command.

    If a word ends with IN, the last path replaces IN and is no word of its own.
    """
    parts = [read_version_text(str(command[0]))]
    parts += [compute_digest(part) if isinstance(part, pathlib.Path) else part for part in command]
    digest = hashlib.sha256("\0".join([name, *parts]).encode())

    def write(file: pathlib.Path) -> None:
        words = [str(part) for part in command]
        if any(word.endswith(IN) for word in words):
            last = words.pop()
            words = [word.removesuffix(IN) + last if word.endswith(IN) else word for word in words]
        words = [word.removesuffix(OUT) + str(file) if word.endswith(OUT) else word for word in words]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(str(part) for part in command)}: exit code {done.returncode}\n{done.stderr}")

    return kept(name, digest, write)
