# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The cache of file facts: equal rows the next time, always for the current file."""

import os
import shutil
import subprocess
import time

import pytest
from packages import PROGRAM, Library, Package


@pytest.fixture
def site(tmp_path):
    package = Package("spam", {"spam/_C.abi3.so": Library(units=("first90.o",))})
    site = package.write(tmp_path / "site")
    time.sleep(2.1)  # what changed a moment ago is not kept
    return site


def rows(site, cache, *more):
    command = [PROGRAM, "audit", site, "--distributions", "--format", "json", *more]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": str(cache)}, check=False
    )
    return done.stdout


def entries(cache):
    return [file for file in cache.rglob("*") if file.is_file()]


def test_reads_the_cache_and_ignores_a_broken_entry(site, tmp_path):
    cache = tmp_path / "cache"
    first = rows(site, cache)
    assert '"sm_90"' in first
    assert rows(site, cache) == first
    [entry] = entries(cache)
    entry.write_text(entry.read_text().replace("sm_90", "sm_80"))  # its digest no longer fits
    assert rows(site, cache) == first


def test_reads_a_changed_file_again(site, tmp_path):
    cache = tmp_path / "cache"
    assert '"sm_90"' in rows(site, cache)
    plain = Package("spam", {"spam/_C.abi3.so": Library()}).write(tmp_path / "plain")
    (site / "spam/_C.abi3.so").unlink()  # it may be a link to what other tests use
    shutil.copyfile(plain / "spam/_C.abi3.so", site / "spam/_C.abi3.so")
    assert '"sm_90"' not in rows(site, cache)


def test_stores_nothing_in_an_unsafe_or_disabled_cache(site, tmp_path):
    open_folder = tmp_path / "open/pbprobe"
    open_folder.mkdir(parents=True)
    open_folder.chmod(0o777)
    first = rows(site, tmp_path / "open")
    assert entries(tmp_path / "open") == []
    assert rows(site, tmp_path / "none", "--no-cache") == first
    assert entries(tmp_path / "none") == []
