#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Writes docs/wheels.md again: the table of real builds, by `pbprobe audit --table`.

PBPROBE_TEST_BUILDS=FOLDER write_wheels.py     the folder that tests/real/fetch_builds filled
"""

import sys

import builds

MARK = "| artifact |"


def main():
    if not builds.FOLDER:
        print("PBPROBE_TEST_BUILDS names no folder: run tests/real/fetch_builds FOLDER first", file=sys.stderr)
        return 2
    page = builds.SOURCE / "docs/wheels.md"
    text = page.read_text()
    begin = text.index(MARK)
    end = text.index("\n\n", begin) + 1
    page.write_text(text[:begin] + builds.table() + text[end:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
