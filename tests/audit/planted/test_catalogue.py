# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Every check that a file by itself can answer has a planted fault and a sound twin."""

import test_cpu
import test_files
import test_gpu
import test_nix
from rows import catalogue

# Subjects of checks that need more than files.
ELSEWHERE = {
    "host",
    "a started libtorch",
    "a gate",
    "a baseline",
    "an emulated CPU",
    "other packages beside it",
    "the packages beside it",
    "an environment",
    "another package than torch",
    "a claim file",
    "a wheel variant",
}


def test_plants_each_check_of_files():
    asked = {row.check for module in (test_files, test_nix, test_cpu, test_gpu) for row in module.ROWS}
    answered_by_files = {
        id_ for id_, (_, needs) in catalogue().items() if id_ < "PB400" and not ELSEWHERE & set(needs.split(", "))
    }
    assert len(answered_by_files) > 30, "docs/checks.md was not understood"
    assert asked == answered_by_files


def test_files_match_their_names():
    for module, prefix in ((test_files, "PB1"), (test_nix, "PB1"), (test_cpu, "PB2"), (test_gpu, "PB3")):
        assert all(row.check.startswith(prefix) for row in module.ROWS)
