# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Folder of results that later runs use again."""

import functools
import os
import pathlib
import shutil
import subprocess


@functools.cache
def folder() -> pathlib.Path:
    """Returns $CCACHE_DIR, else the folder of ccache, else ~/.cache, like cmake/Cubin.cmake."""
    if given := os.environ.get("CCACHE_DIR"):
        return pathlib.Path(given)
    if not shutil.which("ccache"):
        return pathlib.Path.home() / ".cache"
    done = subprocess.run(["ccache", "--get-config", "cache_dir"], capture_output=True, text=True, check=True)
    return pathlib.Path(done.stdout.strip())
