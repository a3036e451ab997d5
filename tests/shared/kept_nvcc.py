# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Runs nvcc for a fixture, unless its output for these inputs is in the cache of made.py.

    kept_nvcc.py NVCC WORD...      one of the words is -o, and the output follows it

Inputs are the version of nvcc, the words, and the content of the files among them; headers must belong to the toolkit.
With CCACHE_DISABLE, nvcc always runs.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

import made


def compile_into(output: pathlib.Path, command: list[str]) -> int:
    words = [str(output) if word == made.OUT else word for word in command]
    return subprocess.run(words, check=False).returncode


def main() -> int:
    command = sys.argv[1:]
    at = command.index("-o") + 1
    output = pathlib.Path(command[at]).absolute()
    command[at] = made.OUT
    if os.environ.get("CCACHE_DISABLE"):
        return compile_into(output, command)
    files = {word: pathlib.Path(word) for word in command[1:] if pathlib.Path(word).is_file()}
    inputs = [made.compute_digest(files[word]) if word in files else word for word in command[1:]]
    digest = hashlib.sha256("\0".join([output.name, made.read_version_text(command[0]), *inputs]).encode())

    def write(file: pathlib.Path) -> None:
        if code := compile_into(file, command):
            sys.exit(code)  # nvcc has reported why

    shutil.copyfile(made.kept(output.name, digest, write), output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
