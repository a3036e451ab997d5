# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Where what was made once is kept from run to run."""

import functools
import pathlib
import shutil
import subprocess


@functools.cache
def folder() -> pathlib.Path:
    """ccache's, or without it ~/.cache: as cmake/Cubin.cmake finds it."""
    if not shutil.which("ccache"):
        return pathlib.Path.home() / ".cache"
    done = subprocess.run(["ccache", "--get-config", "cache_dir"], capture_output=True, text=True, check=True)
    return pathlib.Path(done.stdout.strip())
