# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Where what was made once is kept from run to run."""

import functools
import os
import pathlib
import shutil
import subprocess


@functools.cache
def folder() -> pathlib.Path:
    """$CCACHE_DIR, else ccache's, else ~/.cache: as cmake/Cubin.cmake finds it."""
    if given := os.environ.get("CCACHE_DIR"):
        return pathlib.Path(given)
    if not shutil.which("ccache"):
        return pathlib.Path.home() / ".cache"
    done = subprocess.run(["ccache", "--get-config", "cache_dir"], capture_output=True, text=True, check=True)
    return pathlib.Path(done.stdout.strip())
